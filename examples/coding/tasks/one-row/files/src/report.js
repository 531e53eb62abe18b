/** Three reports as text, one row per item. */
export function orders(items) {
  let text = '';
  for (const { id, customer, total } of items) {
    let name = customer;
    if (name.length > 12) name = `${name.slice(0, 11)}…`;
    while (name.length < 12) name += ' ';
    let amount = total.toFixed(2);
    while (amount.length < 10) amount = ` ${amount}`;
    text += `${id}  ${name}  ${amount}\n`;
  }
  return text;
}

export function refunds(items) {
  let text = '';
  for (const { id, customer, total } of items) {
    let name = customer;
    if (name.length > 12) name = `${name.slice(0, 11)}…`;
    while (name.length < 12) name += ' ';
    let amount = (-total).toFixed(2);
    while (amount.length < 10) amount = ` ${amount}`;
    text += `${id}  ${name}  ${amount}\n`;
  }
  return text;
}

export function drafts(items) {
  let text = '';
  for (const { customer, total } of items) {
    let name = customer ?? 'absent';
    if (name.length > 12) name = `${name.slice(0, 11)}…`;
    while (name.length < 12) name += ' ';
    let amount = total === undefined ? '?' : total.toFixed(2);
    while (amount.length < 10) amount = ` ${amount}`;
    text += `draft  ${name}  ${amount}\n`;
  }
  return text;
}
