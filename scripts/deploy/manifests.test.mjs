// Compares deploy/ with the settings and routes of the server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { parseConfig } from '../../packages/everstep/dist/config/config.js';
import { SECRET_FILE_VARIABLES } from '../../packages/everstep/dist/config/secret-files.js';
import { CLIENT_VARIABLES, SETTINGS } from '../../packages/everstep/dist/config/settings.js';
import { readDockerfile, wordsOf } from './dockerfile.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const filesIn = (directory) =>
  readdirSync(join(ROOT, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length));

/** Returns every document of a YAML file. Syntax problems, such as a duplicate key, are errors. */
function documentsOf(path) {
  return parseAllDocuments(read(path), { merge: true, uniqueKeys: true }).map((document) => {
    assert.deepEqual([...document.errors, ...document.warnings].map(String), [], path);
    return document.toJS();
  });
}

const dockerfile = readDockerfile(read('deploy/Dockerfile'));
const image = dockerfile.at(-1);
const instructionsOf = (name) => image.instructions.filter((instruction) => instruction.name === name).map(({ text }) => text);
const imageEnvironment = Object.fromEntries(instructionsOf('ENV').map((text) => text.split('=')));
const [compose] = documentsOf('deploy/compose.yaml');
const nodes = Object.entries(compose.services).filter(([name]) => name.startsWith('node-'));
const manifests = filesIn('deploy/kubernetes').flatMap(documentsOf);
const kindOf = (kind) => manifests.find((manifest) => manifest.kind === kind);
const deployment = kindOf('Deployment');
const pod = deployment.spec.template.spec;
const [container] = pod.containers;
const dataDir = imageEnvironment.EVERSTEP_DATA_DIR;

/** Maximum duration of a shutdown in ms, from constants of the server. */
function stopMs() {
  const source = read('packages/everstep/src/main.ts');
  const constant = (name) => Number(new RegExp(`const ${name} = ([\\d_]+);`).exec(source)?.[1].replaceAll('_', ''));
  return constant('GRACE_MS') + constant('CLOSE_MS');
}

test('every EVERSTEP_ variable in deploy/ and its pages is a known setting', () => {
  const known = new Set([...Object.values(SETTINGS).map(({ env }) => env), ...CLIENT_VARIABLES, ...SECRET_FILE_VARIABLES]);
  const found = [...filesIn('deploy'), 'docs/operations/containers.md', 'docs/operations/sharding.md'].flatMap((path) =>
    [...read(path).matchAll(/\bEVERSTEP_[A-Z_]+/g)].map(([name]) => ({ path, name })),
  );
  assert.ok(found.length > 10);
  assert.deepEqual(
    found.filter(({ name }) => !known.has(name)),
    [],
  );
});

test('every value in deploy/ is valid for its setting', () => {
  const settings = new Map(Object.values(SETTINGS).map((setting) => [setting.env, setting]));
  const environments = [
    imageEnvironment,
    ...nodes.map(([, { environment }]) => environment),
    Object.fromEntries(container.env.map(({ name, value }) => [name, value])),
  ];
  for (const environment of environments)
    for (const [name, value] of Object.entries(environment)) {
      // The value comes from a secret or from the environment.
      if (!name.startsWith('EVERSTEP_') || value === undefined || value.startsWith('${') || name === 'EVERSTEP_STORE') continue;
      assert.doesNotThrow(() => settings.get(name).parse(value, { mode: 'serve', cwd: '/' }), `${name}=${value}`);
    }
});

/** Returns the service links of a Service, with the names and values that the kubelet gives them. */
function serviceLinksOf({ metadata, spec }) {
  const upper = (name) => name.toUpperCase().replaceAll('-', '_');
  const [prefix, address] = [upper(metadata.name), '10.96.3.4'];
  const links = spec.ports.flatMap(({ name, port, protocol = 'TCP' }) => [
    [`${prefix}_SERVICE_PORT_${upper(name)}`, `${port}`],
    [`${prefix}_PORT_${port}_${protocol}`, `${protocol.toLowerCase()}://${address}:${port}`],
    [`${prefix}_PORT_${port}_${protocol}_PROTO`, protocol.toLowerCase()],
    [`${prefix}_PORT_${port}_${protocol}_PORT`, `${port}`],
    [`${prefix}_PORT_${port}_${protocol}_ADDR`, address],
  ]);
  const [, [, url]] = links;
  const [{ port }] = spec.ports;
  return {
    [`${prefix}_SERVICE_HOST`]: address,
    [`${prefix}_SERVICE_PORT`]: `${port}`,
    [`${prefix}_PORT`]: url,
    ...Object.fromEntries(links),
  };
}

test('pods have no service links, with which the server would not start', () => {
  const pods = manifests.flatMap(({ spec }) => spec?.template?.spec ?? []);
  assert.deepEqual(
    pods.map(({ enableServiceLinks }) => enableServiceLinks),
    [false],
  );
  const secrets = {
    EVERSTEP_STORE: 'postgres://everstep:password@db/everstep',
    EVERSTEP_SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
  const ownVariables = Object.fromEntries(container.env.map(({ name, value }) => [name, value ?? secrets[name]]));
  const parse = (links) =>
    parseConfig({ mode: 'serve', flags: {}, env: { ...imageEnvironment, ...links, ...ownVariables }, cwd: '/' });
  assert.deepEqual(parse({}).problems ?? [], []);
  const links = manifests.filter(({ kind }) => kind === 'Service').map(serviceLinksOf);
  assert.deepEqual(parse(Object.assign({}, ...links)).problems, [
    'EVERSTEP_PORT=tcp://10.96.3.4:80 is a service link of Kubernetes, not a setting of Everstep; set enableServiceLinks: false in the pod spec',
  ]);
});

test('the compose file and the manifests use a PostgreSQL store, and its password is only in the secret', () => {
  for (const [, { environment }] of nodes)
    assert.match(environment.EVERSTEP_STORE, /^postgres:\/\/everstep:\$\{POSTGRES_PASSWORD\}@postgres:5432\/everstep$/);
  assert.match(kindOf('Secret').stringData.EVERSTEP_STORE, /^postgres:\/\//);
  const { secretKeyRef } = container.env.find(({ name }) => name === 'EVERSTEP_STORE').valueFrom;
  assert.deepEqual(secretKeyRef, { name: kindOf('Secret').metadata.name, key: 'EVERSTEP_STORE' });
  assert.doesNotMatch(read('deploy/kubernetes/deployment.yaml'), /postgres:\/\//);
});

test('every node has the secrets key, and no node has credentials of the first start', () => {
  const { name } = kindOf('Secret').metadata;
  const key = 'EVERSTEP_SECRETS_KEY';
  assert.deepEqual(container.env.find((variable) => variable.name === key).valueFrom, { secretKeyRef: { name, key } });
  assert.deepEqual(Object.keys(kindOf('Secret').stringData), ['EVERSTEP_STORE', key]);
  assert.ok(!pod.initContainers && pod.volumes.every(({ secret }) => !secret));
  for (const [, { environment }] of nodes) assert.match(environment[key], /^\$\{EVERSTEP_SECRETS_KEY:\?/);
});

test('ports and addresses match in the image, compose file, Deployment and Service', () => {
  const port = Number(imageEnvironment.EVERSTEP_PORT);
  assert.equal(imageEnvironment.EVERSTEP_HOST, '0.0.0.0');
  assert.deepEqual(instructionsOf('EXPOSE'), [String(port)]);
  const published = nodes.flatMap(([, { ports }]) => ports.map((text) => text.split(':')));
  assert.ok(published.every(([, , inside]) => Number(inside) === port));
  assert.equal(new Set(published.map(([, outside]) => outside)).size, nodes.length, 'each node has its own port');
  for (const [index, [, { environment }]] of nodes.entries())
    assert.equal(new URL(environment.EVERSTEP_PUBLIC_URL).port, published[index][1]);
  const [{ name, containerPort }, management] = container.ports;
  const managementAddress = container.env.find((variable) => variable.name === 'EVERSTEP_MANAGEMENT_ADDRESS').value;
  assert.equal(managementAddress, `0.0.0.0:${management.containerPort}`);
  assert.equal(containerPort, port);
  // The public URL does not serve the dashboard, because the management API has its own address.
  const dashboardUrl = container.env.find((variable) => variable.name === 'EVERSTEP_DASHBOARD_URL').value;
  const [, forwarded] = /port-forward service\/everstep-management (\d+):80/.exec(read('docs/operations/containers.md'));
  assert.equal(dashboardUrl, `http://localhost:${forwarded}`);
  assert.equal(kindOf('Service').spec.ports[0].targetPort, name);
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) assert.equal(container[probe].httpGet.port, name);
});

test('only required destinations, ports and passwords are open', () => {
  assert.ok(!container.env.some((variable) => variable.name === 'EVERSTEP_ALLOW_ADDRESSES'));
  const services = manifests.filter(({ kind }) => kind === 'Service');
  assert.deepEqual(
    services.map(({ spec }) => spec.ports.map(({ targetPort }) => targetPort)),
    [['http'], ['management']],
  );
  assert.match(kindOf('Secret').stringData.EVERSTEP_STORE, /:<password>@.*sslmode=verify-full$/);
  const { spec } = kindOf('NetworkPolicy');
  assert.deepEqual(spec.podSelector.matchLabels, deployment.spec.template.metadata.labels);
  assert.deepEqual(spec.policyTypes, ['Ingress', 'Egress']);
  const ofManagement = spec.ingress.filter(({ ports }) => ports.some(({ port }) => port === 'management'));
  assert.deepEqual(ofManagement, [{ from: [{ podSelector: {} }], ports: [{ port: 'management' }] }]);
  for (const { to, ports } of spec.egress) assert.ok(to?.length > 0 && ports?.length > 0, 'no rule allows everything');
  const [ipv4] = spec.egress.flatMap(({ to }) => to.flatMap(({ ipBlock }) => ipBlock ?? []));
  for (const range of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16']) assert.ok(ipv4.except.includes(range));
});

test('probes use existing routes', () => {
  const routes = read('packages/everstep/src/http-api/index.ts') + filesIn('packages/everstep/src/http-api').map(read).join('');
  assert.equal(container.livenessProbe.httpGet.path, '/health');
  assert.equal(container.startupProbe.httpGet.path, '/health');
  assert.equal(container.readinessProbe.httpGet.path, '/ready');
  for (const path of ['/health', '/ready']) assert.ok(routes.includes(`'${path}'`), path);
  assert.match(instructionsOf('HEALTHCHECK')[0], /'\/health'/);
});

test('the grace period covers the shutdown', () => {
  const [preStopMs] = [...container.lifecycle.preStop.exec.command.at(-1).matchAll(/\b\d+\b/g)].map(Number).filter((n) => n > 0);
  assert.ok(stopMs() > 0);
  assert.ok(pod.terminationGracePeriodSeconds * 1000 >= preStopMs + 2 * stopMs());
  for (const [, { stop_grace_period: text }] of nodes) assert.ok(Number.parseInt(text, 10) * 1000 >= 2 * stopMs());
  assert.deepEqual(instructionsOf('STOPSIGNAL'), ['SIGTERM']);
});

test('containers run without root, only data is writable, and the data directory is a volume', () => {
  assert.deepEqual(instructionsOf('USER'), ['1000:1000']);
  assert.deepEqual(instructionsOf('VOLUME'), [dataDir]);
  assert.equal(pod.securityContext.runAsNonRoot, true);
  assert.equal(pod.securityContext.runAsUser, 1000);
  for (const { securityContext, volumeMounts } of pod.containers) {
    assert.equal(securityContext.allowPrivilegeEscalation, false);
    assert.equal(securityContext.readOnlyRootFilesystem, true);
    assert.ok(volumeMounts.some(({ mountPath }) => mountPath === dataDir));
    for (const { name } of volumeMounts) assert.ok(pod.volumes.some((volume) => volume.name === name));
  }
  for (const [, { volumes, read_only: readOnly }] of nodes) {
    assert.equal(readOnly, true);
    const [[volume, path]] = volumes.map((text) => text.split(':'));
    assert.equal(path, dataDir);
    assert.ok(volume in compose.volumes);
  }
  assert.equal(new Set(nodes.flatMap(([, { volumes }]) => volumes)).size, nodes.length, 'no two nodes share a volume');
});

test('selectors match the pods, and the disruption budget is one pod', () => {
  const { labels } = deployment.spec.template.metadata;
  const budget = kindOf('PodDisruptionBudget');
  for (const selector of [
    deployment.spec.selector.matchLabels,
    kindOf('Service').spec.selector,
    budget.spec.selector.matchLabels,
  ])
    assert.deepEqual(selector, labels);
  assert.ok(deployment.spec.replicas >= 2);
  assert.equal(budget.spec.maxUnavailable, 1);
  const { resources } = kindOf('Kustomization');
  assert.deepEqual(
    [...resources, 'kustomization.yaml'].sort(),
    readdirSync(join(ROOT, 'deploy/kubernetes')).sort(),
    'the kustomization names every file',
  );
});

test('images are pinned to the version of the packages', () => {
  for (const { base } of dockerfile) assert.match(base, /^node:\d+\.\d+\.\d+-[a-z]+-slim$/);
  assert.equal(new Set(dockerfile.map(({ base }) => base)).size, 1);
  assert.match(compose.services.postgres.image, /^postgres:17\.\d+-/);
  const { version } = JSON.parse(read('packages/everstep/package.json'));
  for (const [, { image: name }] of nodes) assert.equal(name, `everstep:${version}`);
  assert.deepEqual(kindOf('Kustomization').images, [{ name: container.image, newTag: version }]);
  const packed = [...read('deploy/Dockerfile').matchAll(/\/packed\/\S+?-(\d+\.\d+\.\d+)\.tgz/g)].map(([, found]) => found);
  assert.deepEqual(packed, [version, version]);
});

test('the image starts the server with its own command line and contains no package manager', () => {
  assert.deepEqual(wordsOf(instructionsOf('ENTRYPOINT')[0]), ['node', '/app/packages/everstep/bin/everstep.js']);
  assert.deepEqual(wordsOf(instructionsOf('CMD')[0]), container.args);
  const [removal] = instructionsOf('RUN');
  for (const tool of ['node_modules', 'npm', 'npx', 'corepack', 'yarn']) assert.match(removal, new RegExp(`/${tool}\\b`));
  for (const { instructions } of dockerfile)
    for (const { name, text } of instructions)
      if (name === 'RUN' && /npm (ci|install)/.test(text)) assert.match(text, /npm ci --ignore-scripts/);
});

test('docs/operations/sharding.md names the distribution column of every PostgreSQL table', async () => {
  const { MIGRATIONS } = await import('../../packages/everstep/dist/stores/postgres/migrations/index.js');
  const tables = MIGRATIONS.flatMap((sql) => [...sql.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name]) => name));
  assert.ok(tables.length > 30);
  const [, section = ''] = read('docs/operations/sharding.md').split('## Distribution keys');
  const [list] = section.split('\n## ');
  assert.deepEqual(
    tables.filter((name) => !list.includes(`\`${name}\``)),
    [],
  );
});

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0;

test('kubectl renders the example overlay with its values and the metrics', {
  skip: hasKubectl ? false : 'kubectl is not installed',
}, () => {
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', join(ROOT, 'deploy/overlays/example')], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  const rendered = parseAllDocuments(stdout).map((document) => document.toJS());
  assert.equal(rendered.length, manifests.filter(({ kind }) => kind !== 'Kustomization').length + 1);
  assert.ok(rendered.every(({ metadata }) => metadata.namespace === 'everstep'));
  const { spec } = rendered.find(({ kind }) => kind === 'Deployment');
  const [shown] = spec.template.spec.containers;
  assert.match(shown.image, /^registry\.example\.com\/everstep:/);
  const env = new Map(shown.env.map(({ name, value }) => [name, value]));
  assert.equal(env.get('EVERSTEP_METRICS_ADDRESS'), '0.0.0.0:9464');
  // A patch keeps the settings of the base.
  for (const { name } of container.env) assert.ok(env.has(name), name);
  const policy = rendered.find(({ metadata }) => metadata.name === 'everstep-metrics');
  assert.deepEqual(policy.spec.podSelector.matchLabels, spec.selector.matchLabels);
  const [port] = policy.spec.ingress[0].ports;
  assert.equal(
    shown.ports.find(({ name }) => name === port.port).containerPort,
    Number(env.get('EVERSTEP_METRICS_ADDRESS').split(':')[1]),
  );
});
