import { render } from 'preact';
import { Viewer } from './app.tsx';

const place = document.getElementById('app');
if (place) render(<Viewer />, place);
