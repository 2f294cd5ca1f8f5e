/** Measures the cost of work: time, CPU of each side, disk flushes, and memory of processes. Linux only. */
import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second in /proc on every Linux that Node supports. */
const TICKS_PER_S = 100;
const BYTES_PER_MB = 1024 * 1024;

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // If the process has ended, or this is not Linux, the value counts as zero.
    return '';
  }
}

/** Returns the ids of a process and its descendants. */
function processTree(pid: number): number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(processTree)];
}

/** Returns the running child processes of this process. */
export const ownChildren = (): readonly number[] => processTree(process.pid).slice(1);

/** Returns the CPU seconds of processes and their descendants, including ended ones. */
export function cpuSeconds(rootPids: readonly number[]): number {
  let ticks = 0;
  for (const pid of rootPids.flatMap(processTree)) {
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
  /** Resident size, with shared pages counted proportionally. */
  readonly pssMB: number;
}

export function memoryOf(rootPids: readonly number[]): Memory {
  const sum = { hwm: 0, rss: 0, pss: 0 };
  const kilobytes = (text: string, name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  for (const pid of rootPids.flatMap(processTree)) {
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

/** Returns the number of flushes of the first disk since boot, by all processes. */
function diskFlushes(): number {
  const fields = DISK === undefined ? [] : read(`/sys/block/${DISK}/stat`).trim().split(/\s+/).map(Number);
  return fields[15] ?? 0;
}

/** Returns the number of MB that processes and their descendants wrote to the disk. */
function writtenMB(rootPids: readonly number[]): number {
  const bytes = rootPids
    .flatMap(processTree)
    .map((pid) => Number(/^write_bytes:\s+(\d+)/m.exec(read(`/proc/${pid}/io`))?.[1] ?? 0));
  return bytes.reduce((sum, value) => sum + value, 0) / BYTES_PER_MB;
}

export const round = (value: number, digits = 2): number => Number(value.toFixed(digits));

/** Returns the median: for an even number of values, the upper of the two middle values. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

export interface Cost {
  readonly seconds: number;
  /** Flushes of the disk by all processes. */
  readonly flushes: number;
  /** Data that the server and its database wrote to the disk. */
  readonly writtenMB: number;
  /** CPU seconds of the server, without its database. */
  readonly cpuServer: number;
  readonly cpuWorker: number;
  /** Null unless a database server was started for the measurement. */
  readonly cpuDatabase: number | null;
  readonly cpuClient: number;
}

export interface MeasuredProcesses {
  /** Process ids of the nodes. */
  readonly serverPids: readonly number[];
  /** Empty unless a database server was started for the measurement. */
  readonly databasePids: readonly number[];
  readonly workerPid: number;
}

/** Measures the cost of `work` on each side. */
export async function measure(
  { serverPids, databasePids, workerPid }: MeasuredProcesses,
  work: () => Promise<void>,
): Promise<Cost> {
  const flushesBefore = diskFlushes();
  const writers = [...serverPids, ...databasePids];
  const writtenBefore = writtenMB(writers);
  const serverCpuBefore = cpuSeconds(serverPids);
  const workerCpuBefore = cpuSeconds([workerPid]);
  const databaseCpuBefore = cpuSeconds(databasePids);
  const clientCpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(clientCpuBefore);
  return {
    seconds,
    flushes: diskFlushes() - flushesBefore,
    writtenMB: round(writtenMB(writers) - writtenBefore, 1),
    cpuServer: round(cpuSeconds(serverPids) - serverCpuBefore),
    cpuWorker: round(cpuSeconds([workerPid]) - workerCpuBefore),
    cpuDatabase: databasePids.length === 0 ? null : round(cpuSeconds(databasePids) - databaseCpuBefore),
    cpuClient: round((user + system) / 1e6),
  };
}
