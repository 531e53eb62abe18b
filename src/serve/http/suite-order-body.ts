import { Fault } from '../../base/fault.ts';
import { type SuiteOrderBody, suiteOrderShape } from '../orders/suite-order.ts';
import { bodyBytes, checkedInput } from './input.ts';

export const SUITE_ORDER_BYTES_MAX = 64 * 1024 ** 2;

/**
 * Reads the order of a suite: one JSON document, or a form. A form has the document without its files in `order`, and
 * the files in `cases`, `target` and `script`.
 */
export async function suiteOrderIn(request: Request): Promise<SuiteOrderBody> {
  const type = request.headers.get('content-type') ?? '';
  const bytes = await bodyBytes(request, SUITE_ORDER_BYTES_MAX);
  const body = /^multipart\/form-data\s*;/i.test(type) ? await formIn(bytes, type) : jsonIn(bytes, type);
  return checkedInput(suiteOrderShape, body, 'body') as SuiteOrderBody;
}

function jsonIn(bytes: Uint8Array, type: string): unknown {
  if (!/^application\/json\s*(?:;|$)/i.test(type))
    throw new Fault('invalid_input', 'Send the body as application/json or multipart/form-data.');
  try {
    return JSON.parse(textIn(bytes, 'The body'));
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('invalid_input', 'The body is not valid JSON.');
  }
}

async function formIn(bytes: Uint8Array, type: string): Promise<unknown> {
  let form: FormData;
  try {
    form = await new Response(Buffer.from(bytes), { headers: { 'content-type': type } }).formData();
  } catch {
    throw new Fault('invalid_input', 'The body is not a valid form.');
  }
  const order = form.get('order');
  if (typeof order !== 'string')
    throw new Fault('invalid_input', 'The form needs a field "order" with a JSON document.');
  const body = jsonIn(Buffer.from(order), 'application/json');
  if (typeof body !== 'object' || body === null) throw new Fault('invalid_input', 'The order must be a JSON object.');
  const files: Record<string, { readonly name: string; readonly text: string }> = {};
  for (const [field, value] of form) {
    if (field === 'order') continue;
    if (typeof value === 'string' || !FILES.has(field))
      throw new Fault(
        'invalid_input',
        'The form takes the field "order" and the files "cases", "target" and "script".',
      );
    files[field] = { name: value.name, text: textIn(new Uint8Array(await value.arrayBuffer()), `The file ${field}`) };
  }
  return { ...body, ...files };
}

const FILES: ReadonlySet<string> = new Set(['cases', 'target', 'script']);

function textIn(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Fault('invalid_input', `${what} is not valid UTF-8.`);
  }
}
