// npm run packages: packs the published packages, installs them in an empty folder, and runs them on the oldest supported Node
// and on the current one. Requires the npm registry; takes minutes.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PUBLISHED_PACKAGES = ['sdk', 'everstep'];
const START_TIMEOUT_MS = 120_000;
const { engines } = JSON.parse(readFileSync(join(ROOT, 'packages/everstep/package.json'), 'utf8'));
const oldestNode = engines.node.replace('>=', '');
const directory = mkdtempSync(join(tmpdir(), 'everstep-packages-'));

function run(command, args, { cwd = directory, env = process.env } = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed with exit code ${status}:\n${stdout}\n${stderr}`);
  return stdout.trim();
}

const APP = `import { createServer } from 'node:http';
import { Client, serve, type Workflow, type WorkflowHandler } from '@everstep/sdk';
import { payloadEncryption } from '@everstep/sdk/encryption';
import { toNodeHandler } from '@everstep/sdk/node';
import * as protocol from '@everstep/sdk/protocol';
import * as testing from '@everstep/sdk/testing';
const encryption = payloadEncryption({ keys: ['${'A'.repeat(43)}='] });
const code: Workflow<{ n: number }, number> = async (context) => context.run('double', () => context.payload.n * 2);
const workflow: WorkflowHandler = serve(code, { encryption });
const handler = toNodeHandler(workflow);
const server = createServer((request, response) => void handler(request, response)).listen(0, '127.0.0.1', async () => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server is not listening');
  const client = new Client({ baseUrl: String(process.env.EVERSTEP_URL), token: String(process.env.EVERSTEP_TOKEN), encryption });
  const ended = await client.trigger(\`http://127.0.0.1:\${address.port}/\`, { body: { n: 21 }, waitForResult: '60s' });
  console.log('result' in ended ? ended.result : JSON.stringify(ended), typeof protocol, typeof testing.startTestService);
  process.exit();
});
`;

async function runOn(node) {
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
  for (const name of Object.keys(env)) if (name.startsWith('EVERSTEP_')) delete env[name];
  const dataDir = mkdtempSync(join(directory, 'data-'));
  const envFile = join(dataDir, 'service.env');
  const args = ['node_modules/everstep/bin/everstep.js', 'dev', '--no-demo', '--port', '0', '--data-dir', dataDir];
  const server = spawn(node, [...args, '--write-env-file', envFile], { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk) => (output += chunk));
  try {
    const deadline = Date.now() + START_TIMEOUT_MS;
    let text = '';
    while (text === '') {
      if (server.exitCode !== null || Date.now() > deadline) throw new Error(`the server did not start:\n${output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      try {
        text = readFileSync(envFile, 'utf8');
      } catch {}
    }
    const environment = Object.fromEntries(
      text
        .trim()
        .split('\n')
        .map((line) => line.split(/=(.*)/s, 2)),
    );
    const page = await fetch(`${environment.EVERSTEP_URL}/`);
    if (!(await page.text()).includes('<script')) throw new Error('the package does not contain the dashboard');
    const output = run(node, ['app.js'], { env: { ...env, ...environment } });
    if (output !== '42 object function') throw new Error(`the workflow returned ${output}`);
  } finally {
    const exitPromise = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGTERM');
    await exitPromise;
  }
}

try {
  for (const name of PUBLISHED_PACKAGES)
    run('npm', ['pack', '--silent', '--pack-destination', directory], { cwd: join(ROOT, 'packages', name) });
  const version = JSON.parse(readFileSync(join(ROOT, 'packages/everstep/package.json'), 'utf8')).version;
  const archives = [`./everstep-sdk-${version}.tgz`, `./everstep-${version}.tgz`];
  writeFileSync(join(directory, 'package.json'), '{"name":"app","private":true,"type":"module"}');
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  run('npm', [
    'install',
    '--no-audit',
    '--no-fund',
    ...archives,
    `typescript@${devDependencies.typescript}`,
    `@types/node@${devDependencies['@types/node']}`,
  ]);
  writeFileSync(join(directory, 'app.ts'), APP);
  for (const [module, resolution] of [
    ['node16', 'node16'],
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    const options = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--types', 'node'];
    run('npx', ['tsc', ...options, '--module', module, '--moduleResolution', resolution, 'app.ts']);
    console.log(`types: ${resolution} passed`);
  }
  const nodePrefix = join(directory, 'oldest');
  run('npm', ['install', '--no-audit', '--no-fund', '--prefix', nodePrefix, `node@${oldestNode}`]);
  for (const node of [join(nodePrefix, 'node_modules/node/bin/node'), process.execPath]) {
    await runOn(node);
    console.log(`server and workflow on Node ${run(node, ['--version'])}: passed`);
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
