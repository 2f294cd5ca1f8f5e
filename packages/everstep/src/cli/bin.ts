/** The process of the command line: checks the runtime, then runs the program. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 13)) {
  process.stderr.write(`Everstep needs Node 22.13 or newer; this is ${process.version}.\n`);
  process.exit(1);
}

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
