// npm run drill [runs]: records how 500 runs that have failed for three reasons are found and repaired, from the notice of an
// alert, from the list in the dashboard, and on the command line. Counts clicks and commands, and measures the time at the pace of
// a person.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { openBrowser } from '../packages/everstep/dist/end-to-end/dashboard/chromium.fixture.js';
import { DashboardHarness } from '../packages/everstep/dist/end-to-end/dashboard/dashboard.fixture.js';
import { Incident } from '../packages/everstep/dist/end-to-end/dashboard/incident.fixture.js';
import { listen, waitUntil } from '../packages/everstep/dist/end-to-end/nodes.fixture.js';

const [runs = 500] = process.argv.slice(2).map(Number);
/** Time to decide on a click and to move the pointer. */
const CLICK_MS = 2_000;
const READ_GROUPS_MS = 6_000;
const READ_PLAN_MS = 5_000;
/** Time to type a command. */
const COMMAND_MS = 8_000;
const BIN = join(import.meta.dirname, '../packages/everstep/dist/cli/bin.js');
const DONE_TIMEOUT_MS = 600_000;
const METHODS = ['alert', 'dashboard', 'command line'];

/** Prints each step with the time since the start. */
function startRecord() {
  const startedAt = performance.now();
  const seconds = () => ((performance.now() - startedAt) / 1000).toFixed(1);
  let stepCount = 0;
  return {
    step(description) {
      stepCount++;
      console.log(`  ${String(stepCount).padStart(2)}  ${seconds().padStart(6)} s  ${description}`);
    },
    end: (description) => console.log(`${stepCount} ${description}, ${seconds()} s`),
  };
}

/** Creates an alert rule for the failures of all workflows, so that one notice reports all dead letters. */
async function startAlerts({ alerts }) {
  const dashboardUrls = [];
  const receiver = await listen((request, response) => {
    void json(request).then((notice) => {
      if (notice.type === 'alert.opened') dashboardUrls.push(notice.dashboardUrl);
      response.writeHead(200).end();
    });
  });
  await alerts.destinations.put('on-call', { kind: 'webhook', url: receiver.url });
  await alerts.rules.put('failures', { condition: { kind: 'failure-rate', percent: 20 }, destinations: ['on-call'] });
  return {
    /** Resolves with the link of the notice. */
    async link() {
      await waitUntil('a notice arrives', () => dashboardUrls.length > 0);
      return dashboardUrls[0];
    },
    async stop() {
      await alerts.rules.delete('failures');
      await receiver.close();
    },
  };
}

/** Repairs the runs in the dashboard. Starts at `link`, which is from a notice, or at the list if it is undefined. */
async function repairInDashboard(page, link) {
  const record = startRecord();
  const click = async (button) => {
    await pause(CLICK_MS);
    const name = (await button.innerText()).replaceAll('\n', ' ');
    await button.click();
    record.step(name);
  };
  if (link !== undefined) {
    await pause(CLICK_MS);
    await page.goto(link);
    record.step('the link in the notice');
    await page.getByText('None selected: a repair applies to all that match the filters').waitFor();
  } else {
    await click(page.getByRole('link', { name: 'Dead letters' }).first());
    // The rows contain the messages and the positions in the code.
    await page.getByRole('grid', { name: 'Groups of dead letters' }).getByRole('row').nth(3).waitFor();
  }
  await pause(READ_GROUPS_MS);
  await click(page.getByRole('link', { name: /^Plan repair/ }));
  await click(page.getByRole('button', { name: 'Create plan' }));
  await page.getByRole('heading', { name: `Resume ${runs} dead letters` }).waitFor();
  await pause(READ_PLAN_MS);
  await click(page.getByRole('button', { name: /^Resume \d+/ }));
  const continueButton = page.getByRole('button', { name: 'Continue', exact: true });
  const doneText = page.getByText(`Done: ${runs} succeeded of ${runs}.`);
  await continueButton.or(doneText).first().waitFor({ timeout: DONE_TIMEOUT_MS });
  if (await continueButton.isVisible()) await click(continueButton);
  await doneText.waitFor({ timeout: DONE_TIMEOUT_MS });
  record.end('clicks in the dashboard');
}

async function repairOnCommandLine(harness) {
  const record = startRecord();
  const env = {
    ...process.env,
    EVERSTEP_URL: harness.variable('EVERSTEP_URL'),
    EVERSTEP_TOKEN: harness.variable('EVERSTEP_TOKEN'),
  };
  const run = async (...parameters) => {
    await pause(COMMAND_MS);
    // The command runs asynchronously, because the workflows run in this process.
    const { code, output } = await outputOf([BIN, ...parameters], env);
    const command = parameters.join(' ');
    if (code !== 0) throw new Error(`"${command}" ended with ${code}: ${output}`);
    record.step(command);
    return output;
  };
  await run('dlq', 'groups');
  await pause(READ_GROUPS_MS);
  const plan = await run('repair', 'plan', 'resume', '--all');
  await pause(READ_PLAN_MS);
  const [repairId] = /rep_\w+/.exec(plan) ?? [''];
  await run('repair', 'start', repairId, '--rate', '50', '--canary', '10', '--then-continue', '--watch');
  record.end('commands');
}

async function outputOf(parameters, env) {
  const child = spawn(process.execPath, parameters, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  return { code, output };
}

const browserResult = await openBrowser();
if (browserResult.kind === 'missing') throw new Error(browserResult.missing);
const harness = await DashboardHarness.open(browserResult.browser);
const incident = await Incident.open();
try {
  for (const method of METHODS) {
    const alerts = method === 'alert' ? await startAlerts(harness.client) : null;
    incident.break();
    await incident.fail(harness.client, runs);
    incident.fix();
    const link = await alerts?.link();
    await alerts?.stop();
    console.log(`${runs} dead letters, ${method}`);
    if (method === 'command line') await repairOnCommandLine(harness);
    else await repairInDashboard((await harness.signedIn()).page, link);
  }
} finally {
  await incident.stop();
  await harness.close();
  await browserResult.browser.close();
}
