import { render } from 'preact';
import { App } from './app.tsx';

const place = document.getElementById('app');
if (place) {
  place.textContent = '';
  render(<App />, place);
}
