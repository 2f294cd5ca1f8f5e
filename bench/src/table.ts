/** `npm run bench -- table`: the table of docs/benchmarks.md, measured in one session. */
import { writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { round } from './meter.js';
import type { Measurable, Options, Transport } from './options.js';
import type { Report } from './workloads.js';

type Measure = (options: Measurable) => Promise<Report>;

const STEPS_PER_RUN = 5;
const BYTES_PER_GB = 1024 ** 3;
/** Numbers of finished runs in the database for which W1 is measured. */
const DATABASE_SIZES = [20_000, 100_000];

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : Number.NaN);

/** Returns the report with the median of runs per second, or an empty report if there is none. */
function medianReportOf(value: unknown): Report {
  if (!Array.isArray(value)) return {};
  const reports: Report[] = value.toSorted((a: Report, b: Report) => numberOf(a.runsPerS) - numberOf(b.runsPerS));
  return reports[reports.length >> 1] ?? {};
}

/** Measures the cells of one transport. Resolves with the cells by the name of their row. */
async function measureColumn(via: Transport, options: Options, measure: Measure): Promise<ReadonlyMap<string, number>> {
  const cells = new Map<string, number>();
  const measureWorkload = async (workload: Measurable['workload'], overrides: Partial<Options> = {}): Promise<Report> => {
    const report = await measure({ ...options, via, ...overrides, workload });
    if (report.error !== undefined) throw new Error(`${workload} over ${via}: ${String(report.error)}`);
    return report;
  };
  const runs = options.runs ?? 5_000;
  const w1 = await measureWorkload('W1', { runs, warmup: options.warmup ?? 10_000, repeat: 3 });
  const { runsPerS, cpuServer, cpuWorker } = medianReportOf(w1.all);
  cells.set('W1 runs/s', numberOf(w1.medianRunsPerS));
  cells.set('W1 steps/s', round(numberOf(runsPerS) * STEPS_PER_RUN, 0));
  cells.set('CPU of the server, ms a step', round((numberOf(cpuServer) * 1000) / (runs * STEPS_PER_RUN), 3));
  cells.set('CPU of the worker, ms a step', round((numberOf(cpuWorker) * 1000) / (runs * STEPS_PER_RUN), 3));
  const w2 = await measureWorkload('W2', { runs: 500, warmup: 500, repeat: 3 });
  cells.set('W2 p50, ms a run', numberOf(w2.medianP50ms));
  cells.set('W2 p99, ms a run', numberOf(w2.medianP99ms));
  cells.set('W2 p50, ms a step', round(numberOf(w2.medianP50ms) / STEPS_PER_RUN, 2));
  cells.set('W3 steps/s', numberOf((await measureWorkload('W3', { repeat: 5 })).medianStepsPerS));
  const w4 = await measureWorkload('W4', { steps: [100, 1_000, 10_000], repeat: 3 });
  for (const steps of [100, 1_000, 10_000]) cells.set(`W4 ms a step at ${steps} steps`, numberOf(w4[`msPerStep${steps}`]));
  cells.set('W5 triggers/s', numberOf((await measureWorkload('W5', { repeat: 3 })).triggersPerS));
  for (const warmup of DATABASE_SIZES) {
    const report = await measureWorkload('W1', { runs, warmup, repeat: 1 });
    cells.set(`W1 runs/s with ${warmup} finished runs in the database`, numberOf(report.medianRunsPerS));
  }
  return cells;
}

export async function writeTable(options: Options, measure: Measure): Promise<number> {
  const columns = new Map<string, ReadonlyMap<string, number>>();
  for (const via of ['http', 'connection'] as const) columns.set(via, await measureColumn(via, options, measure));
  const connectedReport = await measure({ ...options, via: 'connection', workload: 'connected' });
  if (connectedReport.error !== undefined) throw new Error(`connected: ${String(connectedReport.error)}`);
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, ${Math.round(totalmem() / BYTES_PER_GB)} GB, Node ${process.version}`;
  const [http, connection] = [columns.get('http'), columns.get('connection')];
  const rows = [...(http ?? [])].map(([name, value]) => `| ${name} | ${value} | ${connection?.get(name) ?? ''} |`);
  const connectedRows = `| memory, idle, MB | ${numberOf(connectedReport.beforeRssMB)} | |\n| KB per connected worker | | ${numberOf(connectedReport.kilobytesPerWorker)} |`;
  const table = `${machine}\n\n| | HTTP | connection |\n| --- | --- | --- |\n${rows.join('\n')}\n${connectedRows}\n`;
  const figures = Object.fromEntries([...columns].map(([via, cells]) => [via, Object.fromEntries(cells)]));
  writeFileSync(`${options.out}.md`, table);
  writeFileSync(`${options.out}.json`, `${JSON.stringify({ machine, ...figures, connected: connectedReport }, null, 2)}\n`);
  console.log(table);
  return 0;
}
