import { render } from 'preact';
import type { EmbeddedPage } from '../../src/reports/pages/page-kinds.ts';
import { Frame } from './frame.tsx';

const place = document.getElementById('app');
const text = document.getElementById('page')?.textContent;
if (place && text) {
  const page = JSON.parse(text) as EmbeddedPage;
  document.title = `${page.top.word} · ${page.top.subject} · Proctor`;
  place.textContent = '';
  render(<Frame page={page} />, place);
}
