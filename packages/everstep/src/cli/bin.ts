/** The process of the command line. */
// node:sqlite works without a flag on every Node that we claim, but some of them warn about it once; that warning is not
// for our users. Others are shown as they are.
const emitWarning = process.emitWarning.bind(process);
process.emitWarning = (warning: string | Error, ...details: unknown[]): void => {
  const type = warning instanceof Error ? warning.name : typeof details[0] === 'string' ? details[0] : '';
  if (type === 'ExperimentalWarning' && String(warning).includes('SQLite')) return;
  Reflect.apply(emitWarning, process, [warning, ...details]);
};

// Only now, so that nothing is loaded before the above.
const { runCli } = await import('./program.js');
process.exitCode = await runCli(process.argv.slice(2));

export {};
