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

/** CPU seconds of a process and its descendants, those that ended included. */
export function cpuSeconds(root: number): number {
  let ticks = 0;
  for (const pid of withDescendants(root)) {
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

export function memoryOf(root: number): Memory {
  const sum = { hwm: 0, rss: 0, pss: 0 };
  const kilobytes = (text: string, name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  for (const pid of withDescendants(root)) {
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

/** What a process and its descendants gave the disk to write. */
function writtenMB(root: number): number {
  const bytes = withDescendants(root).map((pid) => Number(/^write_bytes:\s+(\d+)/m.exec(read(`/proc/${pid}/io`))?.[1] ?? 0));
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
  readonly cpuClient: number;
}

export interface Measured {
  readonly serverPid: number;
  readonly workerPid: number;
}

export async function measure({ serverPid, workerPid }: Measured, work: () => Promise<void>): Promise<Cost> {
  const flushes = diskFlushes();
  const written = writtenMB(serverPid);
  const server = cpuSeconds(serverPid);
  const worker = cpuSeconds(workerPid);
  const client = process.cpuUsage();
  const begun = performance.now();
  await work();
  const seconds = (performance.now() - begun) / 1000;
  const { user, system } = process.cpuUsage(client);
  return {
    seconds,
    flushes: diskFlushes() - flushes,
    writtenMB: rounded(writtenMB(serverPid) - written, 1),
    cpuServer: rounded(cpuSeconds(serverPid) - server),
    cpuWorker: rounded(cpuSeconds(workerPid) - worker),
    cpuClient: rounded((user + system) / 1e6),
  };
}
