// npm run screenshots: creates the images in docs/images, in both themes, from the same data each time.
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@everstep/sdk';
import { connectTestService } from '@everstep/sdk/testing';
import { openBrowser } from '../packages/everstep/dist/end-to-end/dashboard/chromium.fixture.js';
import { Window } from '../packages/everstep/dist/end-to-end/dashboard/dashboard.fixture.js';
import { ServerProcess } from '../packages/everstep/dist/end-to-end/service-process.fixture.js';
import { checkout, refund } from './screenshots/shop.mjs';

const IMAGES = join(import.meta.dirname, '../docs/images');
const MAX_IMAGE_BYTES = 150_000;
const VIEWPORT = { width: 1440, height: 760 };
const HOURS = 20;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The virtual clock is advanced to this hour (UTC) of the next day, so that the bars of the charts do not depend on the time. */
const START_HOUR = 3;

const PAGES = [
  { name: 'dead-letters', themes: ['light', 'dark'], path: () => 'dead-letters', readyText: 'No groups selected' },
  { name: 'run', themes: ['light'], path: ({ runId }) => `runs/${runId}`, readyText: 'cooling-off period' },
];

/** Triggers the orders of one hour. From hour 8 to hour 15, payments fail; later, shipments fail. One template is always missing. */
async function triggerHour(testService, urls, hour) {
  const faultOf = (n) => (hour >= 8 && hour <= 15 && n % 2 === 0 ? 'charge' : hour > 11 && n % 5 === 1 ? 'ship' : undefined);
  for (let n = 0; n < 12; n++) {
    const id = hour * 12 + n;
    const fails = n === 3 && hour % 3 === 0 ? 'mail' : faultOf(n);
    const url = fails === 'mail' || n % 4 === 3 ? urls.refund : urls.checkout;
    await testService.client.trigger(url, {
      body: { id, ...(fails ? { fails } : {}), customer: {} },
      retries: 0,
      labels: [n % 3 === 0 ? 'eu' : 'us'],
    });
  }
  await testService.advance('1h');
}

/** Creates the data and returns the id of a run that has succeeded. */
async function createData(testService, urls) {
  const { now } = await testService.settle();
  await testService.advanceTo(Math.ceil(now / DAY_MS) * DAY_MS + START_HOUR * HOUR_MS);
  for (let hour = 0; hour < HOURS; hour++) await triggerHour(testService, urls, hour);
  const { dlq } = testService.client;
  const { groups } = await dlq.groups();
  const [assignee] = await dlq.assignees();
  for (const { fingerprint, message } of groups) {
    if (message.includes('payment')) await dlq.assignGroup(fingerprint, assignee ?? null);
    if (message.includes('payment')) await dlq.addGroupNote(fingerprint, 'The payment provider was down until 15:00. Fixed.');
    if (message.includes('template')) await dlq.snoozeGroup(fingerprint, (await testService.now()) + 3 * DAY_MS);
  }
  const { workflowRunId } = await testService.triggerAndSettle(urls.checkout, {
    body: { id: 4711, customer: { address: { street: 'Main Street' } } },
    runId: 'order-4711',
  });
  await testService.advance('2h');
  return workflowRunId;
}

async function takeScreenshots(browser, serverProcess, testService, runId) {
  const now = await testService.now();
  for (const theme of ['light', 'dark']) {
    const context = await browser.newContext({
      baseURL: serverProcess.env.get('EVERSTEP_MANAGEMENT_URL'),
      viewport: VIEWPORT,
      colorScheme: theme,
      reducedMotion: 'reduce',
      timezoneId: 'UTC',
      locale: 'en-US',
    });
    const page = await context.newPage();
    await page.clock.setFixedTime(now);
    await page.goto('/');
    await new Window(page).signIn(serverProcess.env.get('EVERSTEP_ADMIN_EMAIL'), serverProcess.env.get('EVERSTEP_ADMIN_API_KEY'));
    const [, , instance] = new URL(page.url()).pathname.split('/');
    for (const { name, path, readyText } of PAGES.filter(({ themes }) => themes.includes(theme))) {
      await page.goto(`/q/${instance}/${path({ runId })}`);
      await page.getByText(readyText).first().waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
      const file = join(IMAGES, `${name}-${theme}.png`);
      await page.screenshot({ path: file });
      const { size } = await stat(file);
      console.log(`docs/images/${name}-${theme}.png  ${size} bytes`);
      if (size > MAX_IMAGE_BYTES) throw new Error(`${file} has ${size} bytes, more than ${MAX_IMAGE_BYTES}`);
    }
    await context.close();
  }
}

// Paths in stack traces are relative to the working directory.
process.chdir(import.meta.dirname);
await mkdir(IMAGES, { recursive: true });
const browserResult = await openBrowser();
if (browserResult.kind === 'missing') throw new Error(browserResult.missing);
const server = await ServerProcess.create({ EVERSTEP_VIRTUAL_CLOCK: '1' });
let worker;
try {
  await server.start();
  const connection = { url: server.env.get('EVERSTEP_URL'), token: server.env.get('EVERSTEP_TOKEN') };
  const testService = connectTestService(connection);
  worker = connect({
    ...{ app: 'shop', workflows: { checkout, refund }, version: '1.4.2', host: 'shop-1', drainOn: [] },
    ...{ baseUrl: connection.url, token: connection.token },
  });
  await worker.connected;
  await takeScreenshots(browserResult.browser, server, testService, await createData(testService, worker.urls));
} finally {
  await worker?.close();
  await server.dispose();
  await browserResult.browser.close();
}
