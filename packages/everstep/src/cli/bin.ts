/** The process of the command line. */
// node:sqlite works without a flag on every Node that we claim, but some of them warn about it once; that warning is not
// for our users. Others are shown as they are.
const emitWarning = process.emitWarning.bind(process);
process.emitWarning = (warning: string | Error, ...details: unknown[]): void => {
  const type = warning instanceof Error ? warning.name : typeof details[0] === 'string' ? details[0] : '';
  if (type === 'ExperimentalWarning' && String(warning).includes('SQLite')) return;
  Reflect.apply(emitWarning, process, [warning, ...details]);
};

// Its SQLite has full text search from there on. An older one would only fail later, in other words.
const OLDEST_NODE = [22, 16] as const;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  console.error(`Everstep needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

// Only now, so that nothing is loaded before the above.
const { runCli } = await import('./program.js');
process.exitCode = await runCli(process.argv.slice(2));

export {};
