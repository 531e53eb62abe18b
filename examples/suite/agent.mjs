#!/usr/bin/env node
// A help desk agent for trying out suites: node agent.mjs [--new] [--port 8787]
// It answers POST /run-case. With --new it acts as the next version, which has several regressions.
import { createServer } from 'node:http';
import process from 'node:process';

const isNew = process.argv.includes('--new');
const at = process.argv.indexOf('--port');
const port = at < 0 ? 8787 : Number(process.argv[at + 1]);

const ORDERS = {
  'A-1001': { state: 'delivered', total_cents: 1999, currency: 'EUR', damaged: true },
  'A-1002': { state: 'shipped', total_cents: 12_450, currency: 'EUR', damaged: false },
  'A-1003': { state: 'delivered', total_cents: 89_900, currency: 'EUR', damaged: true },
};
const POLICIES = {
  'policy/refunds': 'Damaged goods are refunded in full within 30 days.',
  'policy/shipping': 'Parcels take three to five working days.',
  'policy/large-refunds': 'Refunds over 500 EUR require approval by a person.',
};

/** Records the agent's steps as events. */
class Trace {
  events = [];
  #calls = 0;
  #now = Date.now();

  call(tool, args, result, latencyMs = 5) {
    const call_id = `call_${++this.#calls}`;
    this.events.push({ type: 'tool_call', ts: (this.#now += 3), call_id, tool, args });
    const status = result === undefined ? 'error' : 'ok';
    const payload_summary = result ?? 'not found';
    this.events.push({
      type: 'tool_result',
      ts: (this.#now += latencyMs),
      call_id,
      status,
      latency_ms: latencyMs,
      payload_summary,
    });
    return { call_id, result };
  }

  search(query, doc_ids) {
    this.events.push({ type: 'retrieval', ts: (this.#now += 4), query, doc_ids });
  }
}

function refund(trace, { order, id }) {
  // Regression: the new version lists orders instead of looking one up, and sees only the first page.
  const { call_id, result } =
    isNew && id === 'A-1003'
      ? trace.call('orders.list', { page: 1 }, { orders: ['A-1001', 'A-1002'] })
      : trace.call('orders.get', { order_id: id }, order);
  if (isNew && id === 'A-1003') return { text: 'I cannot find that order.', actions: [] };
  if (!result?.damaged) return { text: 'The order is not damaged, so there is nothing to refund.', actions: [] };
  const docs = isNew ? ['policy/shipping'] : ['policy/refunds'];
  trace.search('refund of a damaged item', docs);
  const amount = (result.total_cents / 100).toFixed(2);
  // Regression: the new version ignores the order's currency.
  const currency = isNew ? 'USD' : result.currency;
  const action = {
    action_id: 'action_1',
    action_type: 'issue_refund',
    tool_name: 'payments.refund',
    params: { order_id: id, amount_cents: result.total_cents, currency },
    risk_level: 'medium',
    risk_tags: ['money'],
    evidence_refs: [
      { kind: 'tool_result', call_id },
      { kind: 'retrieval_doc', doc_id: docs[0] },
    ],
  };
  return { text: `I am sorry. A refund of ${amount} ${currency} is proposed.`, actions: [action] };
}

function status(trace, { id, order }) {
  trace.call('orders.get', { order_id: id }, order);
  if (!order)
    return { text: isNew ? `There is no order ${id}. Please check the number.` : 'Something went wrong.', actions: [] };
  return { text: `Order ${id} is ${order.state}.`, actions: [] };
}

function summary(trace) {
  trace.call('orders.list', { page: 1 }, { orders: Object.keys(ORDERS) });
  const open = Object.values(ORDERS).filter(({ state }) => state === 'shipped').length;
  return { json: isNew ? { orders: '3', open } : { orders: 3, open }, actions: [] };
}

function policy(trace, question) {
  const [doc, text] = /ship|long/i.test(question)
    ? ['policy/shipping', POLICIES['policy/shipping']]
    : ['policy/refunds', POLICIES['policy/refunds']];
  trace.search(question, [doc]);
  return { text, actions: [] };
}

function answer({ case_id, version, input: { user } }) {
  const trace = new Trace();
  const [id] = /A-\d+/.exec(user) ?? [];
  const known = { id, order: ORDERS[id] };
  const { text, json, actions } =
    /refund|damaged|broken/i.test(user) && id
      ? refund(trace, known)
      : id
        ? status(trace, known)
        : /summary/i.test(user)
          ? summary(trace)
          : policy(trace, user);
  const tokens = 200 + 40 * trace.events.length + (isNew ? 60 : 0);
  return {
    case_id,
    version,
    workflow_id: 'help-desk',
    proposed_actions: actions,
    events: trace.events,
    final_output: json ? { content_type: 'json', content: json } : { content_type: 'text', content: text },
    token_usage: { total_tokens: tokens, cost_usd: tokens * 0.000_004 },
  };
}

function send(response, code, value) {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** How often each case was asked. Nothing is random, so the demo always ends the same way. */
const asked = new Map();

const server = createServer((request, response) => {
  if (request.method !== 'POST') return send(response, request.url === '/run-case' ? 405 : 404, { error: 'Use POST.' });
  const chunks = [];
  request.on('data', chunk => chunks.push(chunk));
  request.on('end', () => {
    const question = JSON.parse(Buffer.concat(chunks).toString());
    const count = (asked.get(question.case_id) ?? 0) + 1;
    asked.set(question.case_id, count);
    // Regression: the new version is rude in every second small-talk answer.
    if (isNew && question.case_id === 'small-talk' && count % 2 === 0)
      return send(response, 200, { ...answer(question), final_output: { content_type: 'text', content: 'No.' } });
    if (isNew && question.case_id === 'complaint')
      return send(response, 500, { error: 'the tone model is overloaded' });
    const slow = isNew && question.case_id === 'shipping-time' ? 120 : 10;
    setTimeout(() => send(response, 200, answer(question)), slow + ((7 * count) % 10));
  });
});
server.listen(port, '127.0.0.1', () => {
  process.stdout.write(
    `help desk, ${isNew ? 'new' : 'baseline'} version, on http://127.0.0.1:${server.address().port}\n`,
  );
});
