// npm run build: the pages of the dashboard, when their sources have changed.
import { buildDashboard } from './setup/dashboard.mjs';
import { main, ROOT } from './setup/index.mjs';

await main(async () => {
  await buildDashboard(ROOT, process.execPath, process.env);
  return 0;
});
