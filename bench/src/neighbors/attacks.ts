/** Attacks of a hostile account. `prepare` is called first; `begin` starts the attack without waiting for its end. */
import { setTimeout as pause } from 'node:timers/promises';
import type { HostileClient } from './hostile-client.js';

export interface Attack {
  readonly name: string;
  readonly description: string;
  prepare?(client: HostileClient): Promise<void>;
  begin(client: HostileClient): Promise<void>;
}

const DUE_TASK_COUNT = 25_000;
const DEAD_LETTER_COUNT = 5_000;
const SEARCHED_RUN_COUNT = 10_000;
/** A body of the maximum size that the plan allows. */
const LARGE_BODY = Buffer.from(JSON.stringify('x'.repeat(1024 * 1024 - 2)));
const BRACKETS = Buffer.alloc(9 * 1024 * 1024, '[');
const LONG_TIMEOUT: Readonly<Record<string, string>> = { 'svc-timeout': '1h', 'svc-retries': '0' };
const NO_RETRIES: Readonly<Record<string, string>> = { 'svc-retries': '0' };

const repeatItem = <Item>(count: number, item: (n: number) => Item): readonly Item[] =>
  Array.from({ length: count }, (_, n) => item(n));

function fieldOf(text: string, name: string): string {
  const value = new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1];
  if (value === undefined) throw new Error(`a response has no ${name}: ${text.slice(0, 300)}`);
  return value;
}

async function waitUntil(description: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timeout after 120 s while waiting until ${description}`);
    await pause(200);
  }
}

const waitUntilAllEnded = (client: HostileClient): Promise<void> =>
  waitUntil('all runs have ended', async () => {
    const { text } = await client.send('GET', '/v2/workflows/search?count=1&state=RUN_STARTED');
    return text.includes('"runs":[]');
  });

let largeRunId = '';
/** Creates a run with a journal of 72 MiB. */
async function prepareLargeRun(client: HostileClient): Promise<void> {
  const { status, text } = await client.trigger(`${client.endpoints.app}/large`, '{}', { 'svc-wait-for-result': '120s' });
  if (status !== 200 || !text.includes('RUN_SUCCESS')) throw new Error(`the large run failed: ${text.slice(0, 300)}`);
  largeRunId = fieldOf(text, 'workflowRunId');
}

let dueAtS = 0;

export const ATTACKS: readonly Attack[] = [
  {
    name: 'silent-ports',
    description: '600 runs with a timeout of 1 hour at two ports that never respond',
    begin: (client) =>
      client.triggerAll(
        repeatItem(600, (n) => client.endpoints.silent[n % 2 === 0 ? 0 : 1]),
        LONG_TIMEOUT,
      ),
  },
  {
    name: 'slow-names',
    description: '1,000 runs at host names whose name server never responds',
    begin: (client) => client.triggerAll(repeatItem(1_000, (n) => `http://a${n}.slow.test/x`)),
  },
  {
    name: 'large-bodies',
    description: '6 runs at a time with payloads and step results of 1 MiB, the most that the plan allows',
    async begin(client) {
      client.loop(6, () => client.trigger(`${client.endpoints.app}/one`, LARGE_BODY, { 'svc-wait-for-result': '60s' }));
    },
  },
  {
    name: 'due-tasks',
    description: '25,000 runs that are due at the same moment, at a port that never responds',
    async prepare(client) {
      dueAtS = Math.ceil(Date.now() / 1000) + 90;
      const [port] = client.endpoints.silent;
      await client.triggerAll(
        repeatItem(DUE_TASK_COUNT, () => port),
        { ...LONG_TIMEOUT, 'svc-not-before': String(dueAtS) },
      );
    },
    begin: () => pause(Math.max(0, dueAtS * 1000 - Date.now())),
  },
  {
    name: 'repair',
    description: 'repairs of 5,000 dead letters, one after the other, which fail again',
    async prepare(client) {
      await client.triggerAll(
        repeatItem(DEAD_LETTER_COUNT, () => `${client.endpoints.app}/broken`),
        NO_RETRIES,
      );
      await waitUntilAllEnded(client);
    },
    async begin(client) {
      client.loop(1, async () => {
        const planResponse = await client.send('POST', '/v2/workflows/repairs', JSON.stringify({ action: 'restart' }));
        if (planResponse.status >= 300) return planResponse;
        await pause(2_000);
        return client.send('POST', `/v2/workflows/repairs/${fieldOf(planResponse.text, 'repairId')}/start`, '{}');
      });
    },
  },
  {
    name: 'large-reads',
    description: '4 reads at a time of a run with 72 MiB of results, with a read-only token',
    prepare: prepareLargeRun,
    async begin(client) {
      client.loop(4, () => client.send('GET', `/v2/workflows/runs/${largeRunId}`, null, { readOnly: true }));
    },
  },
  {
    name: 'bracket-bodies',
    description: '4 requests at a time with 9 MiB of brackets, and runs whose endpoint responds with 30 MiB of them',
    async begin(client) {
      client.loop(2, () => client.send('POST', '/v2/batch/trigger', BRACKETS));
      client.loop(2, () =>
        client.trigger(`${client.endpoints.app}/brackets`, '{}', { ...NO_RETRIES, 'svc-wait-for-result': '60s' }),
      );
    },
  },
  {
    name: 'forks',
    description: '2 forks at a time of a run with 72 MiB of results',
    prepare: prepareLargeRun,
    async begin(client) {
      const forkBody = JSON.stringify({ fromStep: 72 });
      client.loop(2, () => client.send('POST', `/v2/workflows/runs/${largeRunId}/fork`, forkBody));
    },
  },
  {
    name: 'waiting-requests',
    description: '3,000 requests that wait for results that do not come',
    async begin(client) {
      client.loop(3_000, () => client.trigger(`${client.endpoints.app}/wait`, '{}', { 'svc-wait-for-result': '600s' }));
      await pause(5_000);
    },
  },
  {
    name: 'search',
    description: '8 searches at a time in 10,000 runs for words that none of them contains',
    async prepare(client) {
      await client.triggerAll(repeatItem(SEARCHED_RUN_COUNT, () => `${client.endpoints.app}/quick`));
      await waitUntilAllEnded(client);
    },
    async begin(client) {
      client.loop(8, (n) =>
        client.send('GET', `/v2/workflows/search?q=none${n % 7}+such&state=RUN_SUCCESS&count=100`, null, { readOnly: true }),
      );
    },
  },
];
