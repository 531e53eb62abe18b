import { useLayoutEffect, useState } from 'preact/hooks';
import { Icon } from './marks.tsx';

const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const KEY = 'proctor-theme';
const PATHS: Record<Theme, string> = {
  auto: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  light:
    'M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6M8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  dark: 'M13 9.6A5.5 5.5 0 0 1 6.4 3a5.5 5.5 0 1 0 6.6 6.6z',
};

/** System, light or dark. */
export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(remembered);
  useLayoutEffect(() => {
    document.documentElement.dataset['theme'] = theme;
    remember(theme);
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] as Theme;
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => setTheme(next)}
      aria-label={`Theme: ${theme}. Change to ${next}.`}
    >
      <Icon path={PATHS[theme]} />
    </button>
  );
}

/** A page opened from disk may have no storage; the choice then lasts until it is closed. */
function remembered(): Theme {
  try {
    return THEMES.find(theme => theme === localStorage.getItem(KEY)) ?? 'auto';
  } catch {
    return 'auto';
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Without storage, the page forgets the theme.
  }
}
