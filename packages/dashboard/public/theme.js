// Before anything is painted: the theme that was chosen here, or that of the system. src/shell/theme.ts changes it later.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem('everstep.theme');
  } catch {
    // Storage may be forbidden; then the system's theme is taken.
  }
  const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
