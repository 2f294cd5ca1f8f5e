// Runs the steps of deploy/Dockerfile in an empty directory without a container engine: the same copies and commands. Then
// starts the server as the image does. Steps that only change the base image are skipped.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readDockerfile, readIgnoreFile, wordsOf } from './dockerfile.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const stages = readDockerfile(readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8'));
const isIgnored = readIgnoreFile(readFileSync(join(ROOT, 'deploy/Dockerfile.dockerignore'), 'utf8'));
/** Directories that the stages create at the root of their file system. */
const OWN_DIRECTORIES = /(^|[\s='"])\/(src|app|packed|var\/lib\/everstep)(?=[/\s'"]|$)/g;
const COMPLETE_INSTALL = 'npm ci --ignore-scripts';
const PATIENCE_MS = 30_000;
const NO_REGISTRY = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED|ENETUNREACH/;

/** Maps absolute paths of a stage to the directory that represents its file system. */
const inside = (root, text) => text.replace(OWN_DIRECTORIES, (_, before, name) => `${before}${root}/${name}`);

function copy(from, sources, to, isOurs) {
  for (const source of sources) {
    const found = join(from, source);
    // Like COPY: a directory is copied by its contents, a file under its name.
    const target = statSync(found).isDirectory() || !(to.endsWith('/') || existsSync(to)) ? to : join(to, basename(source));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(found, target, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !isOurs || !isIgnored(relative(ROOT, path)),
    });
  }
}

/** Whether `npm test` has installed the locked dependencies in this clone. */
const isInstalled = () => {
  const stamp = join(ROOT, 'node_modules', '.everstep-installed');
  const locked = createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex');
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === locked;
};

/** Links or copies the dependencies of this clone: `npm ci` with the same lock would write the same files. */
async function linkDependencies(to) {
  const [from, target] = [join(ROOT, 'node_modules'), join(to, 'node_modules')];
  try {
    await promisify(execFile)('cp', ['-al', from, target]);
  } catch {
    // Another file system, or a `cp` without this option.
    rmSync(target, { recursive: true, force: true });
    cpSync(from, target, { recursive: true, verbatimSymlinks: true });
  }
}

test('the Dockerfile builds a server that starts, responds to /ready and stops', { timeout: 300_000 }, async (t) => {
  const base = mkdtempSync(join(tmpdir(), 'everstep-image-'));
  t.after(() => rmSync(base, { recursive: true, force: true, maxRetries: 3 }));
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(EVERSTEP_|NODE_OPTIONS$|NODE_TEST)/.test(name)),
  );
  const rootOf = (index) => join(base, String(index));
  const made = {};
  for (const [index, { instructions }] of stages.entries()) {
    const root = rootOf(index);
    let workDirectory = root;
    for (const { name, text } of instructions) {
      if (name === 'WORKDIR') {
        workDirectory = inside(root, text);
        mkdirSync(workDirectory, { recursive: true });
      } else if (name === 'COPY') {
        const words = text.split(' ');
        const from = /^--from=(.+)$/.exec(words[0])?.[1];
        if (from) words.shift();
        const source = from ? rootOf(stages.findIndex((stage) => stage.name === from)) : ROOT;
        const to = words.pop();
        const target = to.startsWith('/') ? inside(root, to) : join(workDirectory, to);
        copy(source, words, target, !from);
      } else if (name === 'RUN' && !/\/usr\/local\/|chown/.test(text)) {
        const env = { ...environment, npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' };
        // The complete installation would take most of the time of this test, and is the same as in this clone.
        const isSameInstall = text === COMPLETE_INSTALL && isInstalled();
        const command = isSameInstall ? `${text} --dry-run` : text;
        const failure = await promisify(execFile)('sh', ['-c', inside(root, command)], { cwd: workDirectory, env }).catch(
          (e) => e,
        );
        if (failure instanceof Error && /^npm ci/.test(text) && NO_REGISTRY.test(failure.stderr)) {
          t.diagnostic('NOT CHECKED: the steps of the Dockerfile were skipped, because no package registry is reachable');
          return;
        }
        assert.ok(!(failure instanceof Error), `RUN ${text}\n${failure.stdout}${failure.stderr}`);
        if (isSameInstall) await linkDependencies(workDirectory);
      } else if (name === 'ENV') {
        const [variable, value] = text.split('=');
        made[variable] = inside(root, value);
      } else if (name === 'ENTRYPOINT' || name === 'CMD') made[`\0${name}`] = wordsOf(text).map((word) => inside(root, word));
      else if (name === 'HEALTHCHECK') made['\0HEALTHCHECK'] = wordsOf(text);
    }
  }
  const app = join(rootOf(stages.length - 1), 'app');
  const left = globSync('**/*.test.js', { cwd: join(app, 'packages') }).filter((path) => !path.includes('node_modules'));
  assert.deepEqual(left, [], 'the image contains no tests');
  for (const tool of ['typescript', '@biomejs', 'yaml']) assert.ok(!existsSync(join(app, 'node_modules', tool)), tool);

  const { '\0ENTRYPOINT': entryPoint, '\0CMD': command, '\0HEALTHCHECK': healthCheck, ...variables } = made;
  const env = {
    ...environment,
    ...variables,
    EVERSTEP_HOST: '127.0.0.1',
    EVERSTEP_PORT: String(10_000 + (process.pid % 20_000)),
  };
  const service = spawn(process.execPath, [...entryPoint.slice(1), ...command], {
    cwd: base,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => service.once('exit', resolve));
  let output = '';
  for (const stream of [service.stdout, service.stderr]) stream.on('data', (chunk) => (output += chunk));
  t.after(() => service.kill('SIGKILL'));
  const ready = async () => (await fetch(`http://127.0.0.1:${env.EVERSTEP_PORT}/ready`).catch(() => null))?.status === 200;
  const giveUpAt = performance.now() + PATIENCE_MS;
  while (!(await ready())) {
    assert.ok(service.exitCode === null && performance.now() < giveUpAt, `the server is not ready:\n${output}`);
    await pause(50);
  }
  await promisify(execFile)(process.execPath, healthCheck.slice(1), { env });
  assert.ok(existsSync(join(variables.EVERSTEP_DATA_DIR, 'everstep.db')));
  service.kill('SIGTERM');
  assert.equal(await ended, 0, output);
  await assert.rejects(promisify(execFile)(process.execPath, healthCheck.slice(1), { env }), 'a stopped server is not healthy');
});
