import { render } from 'preact';
import { SourceProvider } from '../shared/source.ts';
import { App } from './app.tsx';
import { embedded } from './embedded-source.ts';

const place = document.getElementById('app');
if (place) {
  place.textContent = '';
  render(
    <SourceProvider value={embedded}>
      <App />
    </SourceProvider>,
    place,
  );
}
