/**
 * Speeds up Node processes in a test run. `--require` loads it first in every process: test files, and the servers and commands
 * they start. It changes how modules are found and loaded, not what they do.
 */
const asyncHooks = require('node:async_hooks');
const { existsSync, readFileSync } = require('node:fs');
const { registerHooks } = require('node:module');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { inspect } = require('node:util');

const ROOT = join(__dirname, '..', '..', '..');
const BUNDLES = join(ROOT, 'packages', 'everstep', 'node_modules', '.cache', 'bundles');
const INDEX = join(BUNDLES, 'index.json');
/** The server as a few files, if this test run has bundled it. See server-bundle.mjs. */
const SERVER = join(ROOT, 'packages', 'everstep', 'node_modules', '.cache', 'server-bundle');
const SERVER_URL = existsSync(join(SERVER, 'program.mjs')) ? pathToFileURL(SERVER).href : null;
const DIST_URL = pathToFileURL(join(ROOT, 'packages', 'everstep', 'dist')).href;
const BIN_URL = `${DIST_URL}/cli/bin.js`;
/** URL of a file compiled by TypeScript. */
const COMPILED_URL = /\/(packages|examples)\/[^/]+\/dist\//;
const RELATIVE_FILE = /^\.\.?\/.*\.js$/;
const TEST_FILE = /\.test(-process)?\.m?js$/;

/** URLs of the bundles, by import specifier. See bundles.mjs. */
const bundles = new Map(
  existsSync(INDEX)
    ? Object.entries(JSON.parse(readFileSync(INDEX, 'utf8'))).map(([name, file]) => [
        name,
        pathToFileURL(join(BUNDLES, file)).href,
      ])
    : [],
);

// Node checks each imported path with several system calls. Imports of compiled files are complete paths.
registerHooks({
  resolve(specifier, context, next) {
    const { parentURL } = context;
    if (parentURL?.startsWith('file:')) {
      if (SERVER_URL && specifier === './program.js' && parentURL === BIN_URL)
        return { url: `${SERVER_URL}/program.mjs`, format: 'module', shortCircuit: true };
      const isServerModule = parentURL.startsWith(DIST_URL) || (SERVER_URL && parentURL.startsWith(SERVER_URL));
      const bundle = isServerModule ? bundles.get(specifier) : undefined;
      const isCompiled = RELATIVE_FILE.test(specifier) && COMPILED_URL.test(parentURL) && !parentURL.includes('/node_modules/');
      const url = bundle ?? (isCompiled ? new URL(specifier, parentURL).href : undefined);
      if (url) return { url, format: 'module', shortCircuit: true };
    }
    return next(specifier, context);
  },
});

// Node's test runner tracks every promise, to report an unhandled rejection under the test that caused it. That makes an
// `await` up to 17 times as slow. Without tracking, such a rejection fails the file instead of the test, so its stack is printed.
if (TEST_FILE.test(process.argv[1] ?? '')) {
  const { createHook } = asyncHooks;
  asyncHooks.createHook = (callbacks) => {
    asyncHooks.createHook = createHook;
    process.on('unhandledRejection', (reason) =>
      process.stderr.write(`Unhandled rejection in ${process.argv[1]}: ${inspect(reason)}\n`),
    );
    return createHook({ ...callbacks, trackPromises: false });
  };
}
