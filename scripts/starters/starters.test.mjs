/** The starters in examples/starters. `npm run test:starters` also installs them from the npm registry and runs all of them. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { ROOT } from '../setup/index.mjs';
import {
  checkWorkflow,
  copyStarter,
  packSdk,
  run,
  STARTER_NAMES,
  startEverstep,
  starterPath,
  writeEnvironment,
} from './starter.mjs';

const json = (path) => JSON.parse(readFileSync(path, 'utf8'));
const SDK_VERSION = json(join(ROOT, 'packages/sdk/package.json')).version;
/** Packages of starters that are not installed in this repository. Their types are not checked. */
const NOT_INSTALLED = ['express', '@hono/node-server'];

const directories = [];
function temporary(parent) {
  mkdirSync(parent, { recursive: true });
  directories.push(mkdtempSync(join(parent, 'starters-')));
  return directories.at(-1);
}
after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
});

test('every server in the list of starters has a starter', () => {
  const list = readFileSync(starterPath('README.md'), 'utf8');
  assert.deepEqual(
    [...list.matchAll(/^\| \[\w+\]\((\w+)\)/gm)].map(([, name]) => name),
    STARTER_NAMES.toSorted((a, b) => list.indexOf(`(${a})`) - list.indexOf(`(${b})`)),
  );
});

test('the starters are not workspaces', () => {
  const { packages } = json(join(ROOT, 'package-lock.json'));
  assert.deepEqual(
    Object.keys(packages).filter((path) => path.startsWith('examples/starters')),
    [],
  );
});

for (const name of STARTER_NAMES) {
  describe(`the starter ${name}`, () => {
    const readme = readFileSync(starterPath(name, 'README.md'), 'utf8');
    const manifest = json(starterPath(name, 'package.json'));

    test('pins its dependencies, and uses the current SDK', () => {
      const versions = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
      assert.deepEqual(
        versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version)),
        [],
      );
      assert.equal(manifest.dependencies['@everstep/sdk'], SDK_VERSION);
    });

    test('has the files and scripts that its README names, and its README has no links to other folders', () => {
      const files = [...readme.matchAll(/`([\w./-]+\.(?:tsx?|js|example))`/g)].map(([, file]) => file);
      assert.ok(files.length >= 4);
      assert.deepEqual(
        files.filter((file) => !existsSync(starterPath(name, file))),
        [],
      );
      const scripts = [...readme.matchAll(/npm (?:run )?(dev|start|build|check|trigger)\b/g)].map(([, script]) => script);
      assert.deepEqual([...new Set(scripts)].sort(), Object.keys(manifest.scripts).sort());
      assert.doesNotMatch(readme, /\]\(/);
    });

    test('lists in .env.example the variables that the app reads', () => {
      const example = readFileSync(starterPath(name, '.env.example'), 'utf8');
      assert.deepEqual(
        [...example.matchAll(/^(\w+)=/gm)].map(([, variable]) => variable),
        ['EVERSTEP_URL', 'EVERSTEP_TOKEN', 'EVERSTEP_CURRENT_SIGNING_KEY', 'EVERSTEP_NEXT_SIGNING_KEY'],
      );
    });

    test('compiles with the types of the SDK', () => {
      // Below the root, so that packages are found.
      const copy = join(temporary(join(ROOT, 'node_modules', '.cache')), name);
      copyStarter(name, copy);
      writeFileSync(join(copy, 'stubs.d.ts'), NOT_INSTALLED.map((each) => `declare module '${each}';\n`).join(''));
      writeFileSync(
        join(copy, 'checked.json'),
        JSON.stringify({
          ...(existsSync(join(copy, 'tsconfig.json')) && { extends: './tsconfig.json' }),
          compilerOptions: {
            ...(manifest.devDependencies ? { noImplicitAny: false } : { module: 'nodenext', checkJs: true, strict: true }),
            ...{ noEmit: true, incremental: false, skipLibCheck: true, types: ['node'] },
          },
          include: ['stubs.d.ts', '**/*.ts', '**/*.js'],
        }),
      );
      const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
      run(process.execPath, [compiler, '-p', 'checked.json'], { cwd: copy });
    });
  });
}

test('the starter node runs its workflow on Everstep with the packed SDK', async () => {
  const directory = temporary(tmpdir());
  const app = join(directory, 'app');
  copyStarter('node', app);
  const installed = join(app, 'node_modules', '@everstep', 'sdk');
  mkdirSync(installed, { recursive: true });
  run('tar', ['-xzf', packSdk(directory), '--strip-components=1', '-C', installed], { cwd: directory });
  const service = await startEverstep(directory);
  try {
    writeEnvironment(app, service);
    const { start, trigger } = json(join(app, 'package.json')).scripts;
    const command = (script) => [process.execPath, ...script.split(' ').slice(1)];
    await checkWorkflow(app, command(start), command(trigger));
  } finally {
    await service.stop();
  }
});
