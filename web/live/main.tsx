import { render } from 'preact';
import { RunsView } from './runs.tsx';

const place = document.getElementById('app');
if (place) render(<RunsView />, place);
