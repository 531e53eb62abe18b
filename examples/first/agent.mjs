// An example agent: a help desk with two orders. Replace it with your own, or break it to see a failing test:
// change 50 to 500 in the next line, and run `proctor test` again.
const REFUND_EUR_MAX = 50;

import { createServer } from 'node:http';
import process from 'node:process';

const ORDERS = {
  'A-1001': { item: 'lamp', eur: 19.99, state: 'delivered' },
  'A-1002': { item: 'desk', eur: 240, state: 'on its way' },
};

/** Answers one message. The reply lists every tool call, so that a test can check them. */
function answerTo(message) {
  const calls = [];
  const call = (tool, args) => calls.push({ id: `call-${calls.length + 1}`, tool, args });
  const [id] = /A-\d{4}/.exec(message) ?? [];
  if (id === undefined) return { answer: 'We are open from 9:00 to 17:00, Monday to Friday.', calls };
  call('orders.get', { id });
  const order = ORDERS[id];
  if (order === undefined) return { answer: `There is no order ${id}.`, calls };
  if (!/broken|refund/i.test(message)) return { answer: `Your ${order.item} is ${order.state}.`, calls };
  if (order.eur > REFUND_EUR_MAX) {
    call('tickets.create', { id, reason: 'refund' });
    return { answer: `A colleague will look at the refund for your ${order.item}.`, calls };
  }
  call('refunds.create', { id, eur: order.eur });
  return { answer: `You get ${order.eur} EUR back for your ${order.item}.`, calls };
}

function send(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

const server = createServer(async (request, response) => {
  if (request.method === 'GET' && request.url === '/health') return send(response, 200, { ok: true });
  if (request.method !== 'POST' || request.url !== '/chat') return send(response, 404, { error: 'Use POST /chat.' });
  try {
    let body = '';
    for await (const chunk of request) {
      body += chunk;
      if (body.length > 65_536) return send(response, 413, { error: 'The message exceeds 64 KiB.' });
    }
    send(response, 200, answerTo(String(JSON.parse(body).message)));
  } catch {
    send(response, 400, { error: 'Send JSON such as {"message":"Where is my order A-1002?"}.' });
  }
});
server.listen(Number(process.env.PORT ?? 8787), '127.0.0.1');
