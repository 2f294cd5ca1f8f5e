/** Entry point of the command line. */
// Some supported Node versions print an experimental warning about node:sqlite once. It does not help users, so it is
// suppressed; other warnings are printed.
const emitWarning = process.emitWarning.bind(process);
process.emitWarning = (warning: string | Error, ...details: unknown[]): void => {
  const type = warning instanceof Error ? warning.name : typeof details[0] === 'string' ? details[0] : '';
  if (type === 'ExperimentalWarning' && String(warning).includes('SQLite')) return;
  Reflect.apply(emitWarning, process, [warning, ...details]);
};

// The reader of a pipe can end first, for example `head`. The command then stops without a message, as if SIGPIPE had ended it.
const EXIT_CODE_OF_SIGPIPE = 141;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(EXIT_CODE_OF_SIGPIPE);
  });
}

// From this version on, the SQLite in Node includes full-text search. An older one would fail later with an unclear error.
const OLDEST_NODE = [22, 16] as const;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
  console.error(`Everstep requires Node ${OLDEST_NODE.join('.')} or later. The current version is ${process.versions.node}.`);
  process.exit(1);
}

// Imported after the checks above, so that no other module is loaded before them.
const { runCli } = await import('./program.js');
process.exitCode = await runCli(process.argv.slice(2));

export {};
