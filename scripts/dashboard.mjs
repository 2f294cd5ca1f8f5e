// npm run build: builds the dashboard if its sources have changed.
import { buildDashboard } from './setup/dashboard.mjs';
import { main, ROOT } from './setup/index.mjs';

await main(async () => {
  await buildDashboard(ROOT, process.execPath, process.env);
  return 0;
});
