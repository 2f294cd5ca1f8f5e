/** Measures stalls of the event loop of the server, and the CPU time used in them. `--import` loads it into the server. */
const INTERVAL_MS = 20;
const MIN_STALL_MS = 200;

let lastTickAt = performance.now();
let lastCpuUsage = process.cpuUsage();
const stallTimer = setInterval(() => {
  const now = performance.now();
  const cpuUsage = process.cpuUsage(lastCpuUsage);
  const stallMs = now - lastTickAt - INTERVAL_MS;
  // If other processes use the CPU, the server has used less CPU time than the stall lasted.
  if (stallMs >= MIN_STALL_MS) process.send?.({ kind: 'stall', stallMs, cpuMs: (cpuUsage.user + cpuUsage.system) / 1000 });
  lastTickAt = now;
  lastCpuUsage = process.cpuUsage();
}, INTERVAL_MS);
stallTimer.unref();
const memoryTimer = setInterval(() => {
  const { rss, heapUsed } = process.memoryUsage();
  process.send?.({ kind: 'memory', rss, heapUsed });
}, 500);
memoryTimer.unref();
process.channel?.unref();
