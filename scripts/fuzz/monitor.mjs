/** Loaded into the server (`--import`): measures stalls of its event loop, and how much of them was work. */
const EVERY_MS = 20;
const LATE_MS = 200;

let at = performance.now();
let cpu = process.cpuUsage();
const timer = setInterval(() => {
  const now = performance.now();
  const used = process.cpuUsage(cpu);
  const stallMs = now - at - EVERY_MS;
  // If other processes use the CPU, the server worked less than the delay.
  if (stallMs >= LATE_MS) process.send?.({ kind: 'stall', stallMs, cpuMs: (used.user + used.system) / 1000 });
  at = now;
  cpu = process.cpuUsage();
}, EVERY_MS);
timer.unref();
const report = setInterval(() => {
  const { rss, heapUsed } = process.memoryUsage();
  process.send?.({ kind: 'memory', rss, heapUsed });
}, 500);
report.unref();
process.channel?.unref();
