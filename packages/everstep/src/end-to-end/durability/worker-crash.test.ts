/**
 * The guarantee of the server over connections: acknowledged runs end, and each step is recorded once, although the server
 * and its workers are killed in turns.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SeededRandom } from '../../clock/testing/seeded-random.js';
import { ServerProcess } from '../service-process.fixture.js';

const WORKER = fileURLToPath(new URL('./crash-worker.fixture.js', import.meta.url));
const KILLS = Number(process.env.WORKER_CRASH_KILLS ?? 8);
const RUNS_PER_LIFE = 20;
const WORKERS = 2;
const LONGEST_LIFE_MS = 150;
const STEPS = ['reserve', 'check', 'charge', 'left', 'middle', 'right', 'receipt'];

interface Trace {
  readonly step: string;
  readonly execution: string;
}
interface EndedRun {
  readonly workflowState: string;
  readonly result: { readonly order: number; readonly seen: readonly Trace[] };
}
interface Logged {
  readonly runs: readonly {
    readonly steps: readonly {
      readonly steps: readonly {
        readonly stepId?: number;
        readonly stepName: string;
        readonly state: string;
        readonly out?: string;
      }[];
    }[];
  }[];
}

class Workers {
  private readonly processes: ChildProcess[];
  private readonly env: NodeJS.ProcessEnv;

  constructor(service: ServerProcess) {
    const { env } = service;
    const own = { EVERSTEP_URL: env.get('EVERSTEP_URL'), EVERSTEP_TOKEN: env.get('EVERSTEP_TOKEN') };
    this.env = { ...process.env, ...own };
    this.processes = Array.from({ length: WORKERS }, () => this.start());
  }

  private start(): ChildProcess {
    return fork(WORKER, { env: this.env, stdio: 'ignore' });
  }

  /** Kills one process and starts another. */
  replace(index: number): void {
    this.processes[index]?.kill('SIGKILL');
    this.processes[index] = this.start();
  }

  kill(): void {
    for (const each of this.processes) each.kill('SIGKILL');
  }
}

/** Returns the problems of a run that must have succeeded, and notes the executions that it recorded. */
async function checkRun(service: ServerProcess, order: number, executions: Set<string>): Promise<void> {
  const ended = await service.request('GET', `/v2/workflows/runs/order-${order}/result?timeout=60s`);
  const { workflowState, result } = ended.body as EndedRun;
  assert.equal(workflowState, 'RUN_SUCCESS', JSON.stringify(ended.body));
  assert.equal(result.order, order);
  const logs = await service.request('GET', `/v2/workflows/logs?workflowRunId=order-${order}`);
  const { runs } = logs.body as Logged;
  assert.equal(runs.length, 1, 'the id identifies one run');
  const recorded = (runs[0]?.steps ?? []).flatMap(({ steps }) => steps).filter(({ stepId }) => stepId !== undefined);
  assert.deepEqual(recorded.map(({ stepName }) => stepName).sort(), [...STEPS].sort());
  assert.ok(recorded.every(({ state }) => state === 'STEP_SUCCESS'));
  // The code sees recorded results, not the results of lost attempts.
  const traces = recorded.flatMap(({ out }) => (out === undefined ? [] : [JSON.parse(out) as Trace]));
  const byStep = (a: Trace, b: Trace): number => a.step.localeCompare(b.step);
  assert.deepEqual(traces.sort(byStep), [...result.seen].sort(byStep));
  for (const { execution } of traces) executions.add(execution);
}

test('runs over connections finish with each step recorded once although the server and the workers are killed', {
  timeout: 60_000 + KILLS * 20_000,
}, async (t) => {
  const seed = Number(process.env.CRASH_TEST_SEED ?? randomInt(2 ** 31));
  t.diagnostic(`seed ${seed} (set CRASH_TEST_SEED to repeat)`);
  const random = new SeededRandom(seed);
  const service = await ServerProcess.create();
  t.after(() => service.dispose());
  await service.start();
  // Workers reconnect to the address that they know.
  const { port } = new URL(service.env.get('EVERSTEP_URL') ?? '');
  const workers = new Workers(service);
  t.after(() => workers.kill());

  const acknowledged = new Set<number>();
  async function trigger(order: number): Promise<void> {
    const headers = {
      'content-type': 'application/json',
      'svc-workflow-runid': `order-${order}`,
      // A repeated trigger whose response was lost must return the same run, even if that has ended.
      'svc-deduplication-id': `order-${order}`,
      'svc-retries': '20',
      'svc-retry-delay': '20',
    };
    const path = `/v2/trigger/${encodeURIComponent('worker://crash/order')}`;
    // The server may be killed before it can respond.
    const response = await service.request('POST', path, headers, JSON.stringify({ order })).catch(() => undefined);
    if (!response) return;
    assert.equal(response.status, 200, JSON.stringify(response.body));
    acknowledged.add(order);
  }

  let orders = 0;
  let open: number[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    open.push(...Array.from({ length: RUNS_PER_LIFE }, () => orders++));
    const triggers = Promise.all(open.map(trigger));
    await pause(random.below(LONGEST_LIFE_MS));
    if (random.chance(0.5)) workers.replace(random.below(WORKERS));
    else {
      await service.end('SIGKILL');
      await triggers;
      await service.start({ port });
    }
    await triggers;
    open = open.filter((order) => !acknowledged.has(order));
  }
  await Promise.all(open.map(trigger));
  assert.equal(acknowledged.size, orders);

  const executions = new Set<string>();
  const problems: string[] = [];
  for (let order = 0; order < orders; order++)
    await checkRun(service, order, executions).catch((error: unknown) => problems.push(`order-${order}: ${String(error)}`));
  t.diagnostic(`${orders} runs, ${KILLS} kills, ${problems.length} problems`);
  assert.deepEqual(problems, [], `seed ${seed}`);
  assert.equal(executions.size, orders * STEPS.length, 'no execution is recorded for two steps');
  workers.kill();
  await service.end('SIGTERM');
});
