/** Light or dark: as the system says, or as the reader has chosen. The choice is kept in the browser; nothing else is. */

import { useState } from 'preact/hooks';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'tessera-theme';

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return THEMES.find((theme) => theme === value) ?? 'auto';
  } catch {
    // Storage may be forbidden.
    return 'auto';
  }
}

function apply(theme: Theme): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Call before the first page is shown. */
export function applyStoredTheme(): void {
  apply(stored());
}

export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(stored);
  const choose = (chosen: Theme): void => {
    setTheme(chosen);
    apply(chosen);
    try {
      localStorage.setItem(KEY, chosen);
    } catch {
      // It holds for this page then.
    }
  };
  return [theme, choose];
}
