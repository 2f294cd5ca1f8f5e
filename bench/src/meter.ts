/** What a piece of work costs: time, CPU of each side, disk flushes; and what processes hold in memory. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second in /proc, on every Linux that Node runs on. */
const TICKS_PER_S = 100;
const BYTES_PER_MB = 1024 * 1024;

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process ended, or this is no Linux: it counts as nothing.
    return '';
  }
}

function withDescendants(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(withDescendants)];
}

/** The processes that this one has started and that have not ended. */
export const ownChildren = (): readonly number[] => withDescendants(process.pid).slice(1);

/** CPU seconds of processes and their descendants, those that ended included. */
export function cpuSeconds(roots: readonly number[]): number {
  let ticks = 0;
  for (const pid of roots.flatMap(withDescendants)) {
    const stat = read(`/proc/${pid}/stat`);
    // The command may contain anything; the numbered fields follow its closing bracket.
    const numbers = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map(Number);
    ticks += numbers.reduce((sum, value) => sum + (Number.isFinite(value) ? value : 0), 0);
  }
  return ticks / TICKS_PER_S;
}

export interface Memory {
  /** Highest resident size so far. */
  readonly hwmMB: number;
  readonly rssMB: number;
  /** Resident size, shared pages by share. */
  readonly pssMB: number;
}

export function memoryOf(roots: readonly number[]): Memory {
  const sum = { hwm: 0, rss: 0, pss: 0 };
  const kilobytes = (text: string, name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  for (const pid of roots.flatMap(withDescendants)) {
    const status = read(`/proc/${pid}/status`);
    sum.hwm += kilobytes(status, 'VmHWM');
    sum.rss += kilobytes(status, 'VmRSS');
    sum.pss += kilobytes(read(`/proc/${pid}/smaps_rollup`), 'Pss');
  }
  const toMB = (kB: number): number => Math.round(kB / 1024);
  return { hwmMB: toMB(sum.hwm), rssMB: toMB(sum.rss), pssMB: toMB(sum.pss) };
}

function firstDisk(): string | undefined {
  try {
    return readdirSync('/sys/block').find((name) => /^(vd|sd|nvme)/.test(name));
  } catch {
    return undefined;
  }
}

const DISK = firstDisk();

/** Flushes of the first disk since it was started, by anybody. */
function diskFlushes(): number {
  const fields = DISK === undefined ? [] : read(`/sys/block/${DISK}/stat`).trim().split(/\s+/).map(Number);
  return fields[15] ?? 0;
}

/** What processes and their descendants gave the disk to write. */
function writtenMB(roots: readonly number[]): number {
  const bytes = roots
    .flatMap(withDescendants)
    .map((pid) => Number(/^write_bytes:\s+(\d+)/m.exec(read(`/proc/${pid}/io`))?.[1] ?? 0));
  return bytes.reduce((sum, value) => sum + value, 0) / BYTES_PER_MB;
}

export const rounded = (value: number, digits = 2): number => Number(value.toFixed(digits));

/** The upper of the two in the middle when their number is even. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

export interface Cost {
  readonly seconds: number;
  readonly flushes: number;
  /** By the service alone. */
  readonly writtenMB: number;
  readonly cpuServer: number;
  readonly cpuWorker: number;
  /** Null where the service has no server of a database that was started for it. */
  readonly cpuDatabase: number | null;
  readonly cpuClient: number;
}

export interface Measured {
  /** One for each node. */
  readonly serverPids: readonly number[];
  /** Empty where there is none, or none that was started for this. */
  readonly databasePids: readonly number[];
  readonly workerPid: number;
}

export async function measure({ serverPids, databasePids, workerPid }: Measured, work: () => Promise<void>): Promise<Cost> {
  const flushes = diskFlushes();
  const writers = [...serverPids, ...databasePids];
  const written = writtenMB(writers);
  const server = cpuSeconds(serverPids);
  const worker = cpuSeconds([workerPid]);
  const database = cpuSeconds(databasePids);
  const client = process.cpuUsage();
  const begun = performance.now();
  await work();
  const seconds = (performance.now() - begun) / 1000;
  const { user, system } = process.cpuUsage(client);
  return {
    seconds,
    flushes: diskFlushes() - flushes,
    writtenMB: rounded(writtenMB(writers) - written, 1),
    cpuServer: rounded(cpuSeconds(serverPids) - server),
    cpuWorker: rounded(cpuSeconds([workerPid]) - worker),
    cpuDatabase: databasePids.length === 0 ? null : rounded(cpuSeconds(databasePids) - database),
    cpuClient: rounded((user + system) / 1e6),
  };
}
