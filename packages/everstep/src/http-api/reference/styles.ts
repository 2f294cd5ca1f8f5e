const LINE = 'light-dark(#d9dbe1, #3a3d46)';
const FAINT = 'light-dark(#5b6070, #a3a8b8)';
const PANEL = 'light-dark(#f5f6f8, #1e2027)';
const LINK = 'light-dark(#2c4bd6, #a9b8ff)';

/** Style sheet of the API reference. It uses system fonts, and has colors for light and dark mode. */
export const STYLES = `:root {
  color-scheme: light dark;
}
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; background: light-dark(#fff, #15161b); color: light-dark(#1c1e26, #e5e7ee); }
a { color: ${LINK}; }
code { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: 0 24px; align-items: center; padding: 0 24px; border-bottom: 1px solid ${LINE}; }
header p { font-weight: 700; }
header ul { display: flex; flex-wrap: wrap; gap: 4px 20px; list-style: none; margin: 12px 0; padding: 0; }
[aria-current] { font-weight: 600; text-decoration: none; color: inherit; }
.columns { display: grid; grid-template-columns: 300px minmax(0, 1fr); }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 16px; border-right: 1px solid ${LINE}; font-size: 14px; }
nav ul { list-style: none; margin: 0 0 8px; padding: 0; }
nav li a { display: block; padding: 4px 8px; text-decoration: none; color: inherit; }
nav li a:hover { background: ${PANEL}; }
nav summary { padding: 4px 0; font-weight: 600; }
summary { cursor: pointer; }
main { padding: 8px 32px 64px; max-width: 1000px; }
h2 { margin: 48px 0 0; padding-top: 8px; border-top: 1px solid ${LINE}; }
h3 { margin: 0; font-size: 20px; }
h3 a { color: inherit; text-decoration: none; }
h4 { margin: 20px 0 4px; }
.operation { margin-top: 32px; scroll-margin-top: 16px; }
.operation:target h3 { text-decoration: underline; text-decoration-color: ${LINK}; }
.route { padding: 8px 12px; background: ${PANEL}; border: 1px solid ${LINE}; border-radius: 6px; }
.method { font: 700 12px ui-monospace, monospace; }
.get { color: light-dark(#0a6b3d, #7fdca8); }
.post, .put, .patch { color: light-dark(#2c4bd6, #a9b8ff); }
.delete { color: light-dark(#b3261e, #ff9d94); }
.auth, .limits, .media, em { color: ${FAINT}; font-size: 14px; }
em { font-style: normal; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 8px 12px 8px 0; border-top: 1px solid ${LINE}; text-align: left; vertical-align: top; }
th { width: 220px; font-weight: 400; }
td p { margin: 2px 0; }
td .properties { margin-top: 8px; }
td .properties th { padding-left: 12px; }
details { padding: 4px 0; }
@media (max-width: 800px) {
  .columns { display: block; }
  nav { position: static; max-height: none; border: 0; border-bottom: 1px solid ${LINE}; }
  main { padding: 8px 16px 48px; }
  table, tbody, tr, th, td { display: block; width: auto; }
  th { padding-bottom: 0; }
  td { border: 0; padding-top: 0; }
}
`;
