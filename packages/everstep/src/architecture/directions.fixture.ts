/** Declares which part of the repository may import which others. `architecture.test.ts` compares it with the sources. */
export interface DirectionRule {
  /** Path of the sources that the rule applies to, and of those below it. The rule with the longest matching path applies. */
  readonly area: string;
  /** Additional allowed imports: packages and paths. With the prefix `types `, only types of the path are allowed. */
  readonly imports: readonly string[];
  readonly reason: string;
}

export const NODE = 'node:*';
const PROTOCOL = '@everstep/sdk/protocol';
const LIMITS_FILE = 'everstep/src/config/limits';
const LOG_LEVELS = 'everstep/src/config/log-levels';
const ENGINE = 'everstep/src/engine';
export const PORTS = 'everstep/src/ports';
const [RESPONSES, FAIRNESS, AUDIT] = ['everstep/src/responses', 'everstep/src/fairness', 'everstep/src/audit'];
export const inEverstep = (...areas: string[]): string[] => areas.map((area) => `everstep/src/${area}`);

const CONSISTENCY = 'everstep/src/stores/shared/consistency/checks';
const SHARED_STORE = ['everstep/src/stores/records', 'everstep/src/stores/shared'];
const STORE_IMPORTS = [
  `types ${ENGINE}`,
  ...[
    'writes',
    'runs/run',
    'runs/positions',
    'limits/pinned-limits',
    'dead-letters/repair',
    'dead-letters/dead-letter-groups',
    'dead-letters/group-triage',
    'insights/counts',
    'insights/stored-counts',
    'alerts/alert',
    'alerts/alert-settings',
  ].map((module) => `${ENGINE}/${module}`),
  ...[PORTS, `${AUDIT}/chain`, LIMITS_FILE, PROTOCOL],
];

export const DIRECTIONS: readonly DirectionRule[] = [
  { area: ENGINE, imports: [LIMITS_FILE, PROTOCOL, 'jsep', 'croner'], reason: 'decisions are a pure function of their inputs' },
  {
    area: PORTS,
    imports: [`types ${ENGINE}`, `${ENGINE}/writes/stored-size`, PROTOCOL],
    reason: 'a port describes a need in terms of the engine',
  },
  {
    area: 'everstep/src/runtime',
    imports: [ENGINE, PORTS, RESPONSES, FAIRNESS, AUDIT, LIMITS_FILE, PROTOCOL],
    reason: 'the runtime works with any store and any transport of steps',
  },
  {
    area: RESPONSES,
    imports: [`types ${ENGINE}`, LIMITS_FILE, PROTOCOL],
    reason: 'an HTTP response is interpreted the same way for every sender',
  },
  {
    area: AUDIT,
    imports: [`types ${ENGINE}`, `${ENGINE}/ids`, PORTS, LIMITS_FILE, NODE],
    reason: 'all requests are recorded the same way',
  },
  { area: FAIRNESS, imports: [`types ${PORTS}`], reason: 'the rule of shares does not depend on the shared resource' },
  {
    area: 'everstep/src/stores/sqlite',
    imports: [...STORE_IMPORTS, ...SHARED_STORE, NODE],
    reason: 'a store depends on no other',
  },
  { area: 'everstep/src/stores/postgres', imports: [...STORE_IMPORTS, ...SHARED_STORE, 'pg', NODE], reason: 'as for SQLite' },
  ...SHARED_STORE.map((area) => ({
    area,
    imports: [...STORE_IMPORTS, ...SHARED_STORE],
    reason: 'every store uses the same SQL and records',
  })),
  {
    area: 'everstep/src/stores/conformance',
    imports: [ENGINE, PORTS, `${AUDIT}/chain`, LIMITS_FILE, PROTOCOL, NODE],
    reason: 'the suite is the same for every store and depends on none',
  },
  {
    area: 'everstep/src/step-calls',
    imports: [
      `types ${ENGINE}`,
      PORTS,
      RESPONSES,
      FAIRNESS,
      LIMITS_FILE,
      ...inEverstep('config/destination-rules', 'dialects'),
      PROTOCOL,
      'undici',
      NODE,
    ],
    reason: 'a transport of steps is replaceable, so it depends only on its port; the content of a call belongs to a dialect',
  },
  {
    area: 'everstep/src/metrics',
    imports: [`types ${ENGINE}`, PORTS, 'prom-client', NODE],
    reason: 'the server is observed at its ports',
  },
  {
    area: 'everstep/src/tracing',
    imports: [
      ...[`types ${ENGINE}`, PORTS, 'types everstep/src/config/telemetry/tracing-settings'],
      ...['everstep/src/metrics/observed-calls', 'everstep/src/step-calls/version', PROTOCOL, 'undici', NODE],
    ],
    reason: 'as for metrics',
  },
  {
    area: 'everstep/src/mail',
    imports: [
      `types ${ENGINE}`,
      PORTS,
      LIMITS_FILE,
      'types everstep/src/config/mail/mail-settings',
      PROTOCOL,
      'nodemailer',
      NODE,
    ],
    reason: 'only this area knows how email is sent',
  },
  {
    area: 'everstep/src/worker-connections',
    imports: [`types ${ENGINE}`, PORTS, RESPONSES, FAIRNESS, LIMITS_FILE, ...inEverstep('dialects'), PROTOCOL],
    reason: 'the frames of workers do not depend on the socket that carries them',
  },
  {
    area: 'everstep/src/http-api',
    imports: [
      ...inEverstep(
        'runtime/services/workflow-service',
        'contract',
        'dialects',
        'accounts',
        'search',
        'engine',
        'ports',
        'config',
      ),
      ...inEverstep('responses/header-names', 'responses/reported-error'),
      ...inEverstep('fairness', 'secrets/key-ring', 'sign-in', 'audit', 'worker-connections'),
      ...['@everstep/sdk/protocol', 'fastify', 'typebox', 'pino', 'jose', 'ajv', 'ws', NODE],
    ],
    reason: 'the API uses the server through its interface, whatever runtime or store is behind it',
  },
  {
    area: 'everstep/src/contract',
    imports: [
      LIMITS_FILE,
      LOG_LEVELS,
      'everstep/src/config/mail/mail-address',
      `types ${ENGINE}`,
      `types ${PORTS}/stores/filters`,
      'typebox',
      PROTOCOL,
    ],
    reason: 'every side relies on the contract, so it depends on none of them',
  },
  {
    area: 'everstep/src/dialects',
    imports: [`types ${ENGINE}`, `${ENGINE}/failures`, `types ${PORTS}`, RESPONSES, LIMITS_FILE, PROTOCOL],
    reason: 'a dialect defines how data is written and what responses mean, for every sender',
  },
  {
    area: 'everstep/src/accounts',
    imports: [
      PORTS,
      ENGINE,
      AUDIT,
      LIMITS_FILE,
      PROTOCOL,
      ...inEverstep('contract', 'dialects', 'config', 'secrets'),
      'jose',
      NODE,
    ],
    reason: 'tokens and keys do not depend on the caller',
  },
  {
    area: 'everstep/src/search',
    imports: [PORTS, LIMITS_FILE, ...inEverstep('accounts'), NODE],
    reason: 'permissions of an index follow from its account; a port hides how documents are stored',
  },
  {
    area: 'everstep/src/rotation',
    imports: [PORTS, ...inEverstep('backup', 'bootstrap', 'config', 'search', 'secrets', 'stores'), NODE],
    reason: 'secrets are replaced in any store, while a server runs or not',
  },
  {
    area: 'everstep/src/sign-in',
    imports: [PORTS, ...inEverstep('config', 'accounts', 'contract', 'secrets/key-ring'), 'openid-client', 'oidc-provider', NODE],
    reason: 'only this area knows how to use an identity provider; accounts decide which user it identifies',
  },
  { area: 'everstep/src/secrets', imports: [PORTS, PROTOCOL, NODE], reason: 'secrets are encrypted the same way in every store' },
  { area: 'everstep/src/config', imports: [NODE], reason: 'settings are read before anything else exists' },
  { area: 'everstep/src/clock', imports: [PORTS, NODE], reason: 'the real clock and randomness implement ports' },
  {
    area: 'everstep/src/bootstrap',
    imports: [PORTS, ENGINE, PROTOCOL, ...inEverstep('accounts', 'config', 'clock', 'dialects', 'secrets'), 'pino', NODE],
    reason: 'the first start prepares what the server needs, and serves no requests',
  },
  {
    area: 'everstep/src/backup',
    imports: [
      PROTOCOL,
      `types ${PORTS}`,
      ...inEverstep('bootstrap', 'secrets', 'config/secret-keys', 'stores/sqlite'),
      `types ${CONSISTENCY}`,
      NODE,
    ],
    reason: 'only the embedded store has backups; the server and the command line both make them',
  },
  {
    area: 'everstep/src/store-copy',
    imports: [...inEverstep('backup', 'stores/sqlite', 'stores/postgres'), NODE],
    reason: 'only code that copies one store to another knows both',
  },
  {
    area: 'everstep/src/simulation',
    imports: [
      ...[PORTS, ENGINE, LIMITS_FILE, ...inEverstep('clock', 'runtime', 'stores', 'worker-connections')],
      ...['@everstep/sdk', 'sdk/dist/worker', 'types sdk/dist/endpoint', 'sdk/dist/testing/step-history.fixture', PROTOCOL, NODE],
    ],
    reason: 'the simulation runs the real runtime without a network',
  },
  {
    area: 'everstep/src/cli',
    imports: [...inEverstep('config', 'bootstrap', 'contract', 'step-calls/version'), '@everstep/sdk', 'commander', 'pino', NODE],
    reason: 'the command line is a client of the API like any other',
  },
  {
    area: 'everstep/src/cli/commands/installation/server',
    imports: [...inEverstep('main', 'cli', 'config', 'bootstrap'), '@everstep/sdk', 'commander', 'pino', NODE],
    reason: 'dev and serve start the server, which only main assembles',
  },
  {
    area: 'everstep/src/cli/commands/installation/backup',
    imports: [
      ...inEverstep('backup', 'cli', 'config', 'step-calls/version', 'stores/postgres/storage/consistency'),
      ...[`types ${CONSISTENCY}`, 'commander', NODE],
    ],
    reason: 'a backup is made where the store is, even if no server runs',
  },
  {
    area: 'everstep/src/cli/doctor/store-checks',
    imports: inEverstep(
      'backup/contents',
      'bootstrap',
      'cli',
      'stores/postgres/storage/diagnosis',
      'stores/sqlite/connection',
    ).concat(NODE),
    reason: 'the store is examined where it is, even if no server runs',
  },
  {
    area: 'everstep/src/cli/commands/installation/store',
    imports: [...inEverstep('cli', 'config', 'stores/postgres/sharding/administration'), 'commander', NODE],
    reason: 'the tables of a store are distributed while no server runs',
  },
  {
    area: 'everstep/src/cli/commands/installation/rotate-secrets',
    imports: [...inEverstep('rotation', 'bootstrap', 'cli', 'config'), 'commander', NODE],
    reason: 'secrets are replaced where the store is, even if no server runs',
  },
  {
    area: 'everstep/src/cli/commands/installation/copy-store',
    imports: [...inEverstep('store-copy', 'cli', 'config'), 'commander', NODE],
    reason: 'a store is copied while no server uses it',
  },
  {
    area: 'everstep/src/end-to-end',
    imports: [
      '@everstep/sdk',
      '@everstep/example-guides',
      ...inEverstep('cli/testing'),
      'undici',
      'playwright-core',
      'axe-core',
      NODE,
    ],
    reason: 'end-to-end tests work from outside; the examples of the guides are apps like those of users',
  },
  {
    area: 'everstep/src/architecture',
    imports: ['rolldown', NODE],
    reason: 'these tests only read sources',
  },
  {
    area: 'everstep/src/documentation',
    imports: [...inEverstep('cli', 'architecture', 'metrics/definitions'), 'commander', 'rolldown', NODE],
    reason: 'the documentation is compared with the program; this area contains only tests',
  },
  {
    area: 'everstep/src/wiring',
    imports: ['everstep/src', 'pino', NODE],
    reason: 'only the wiring knows which store, transport and API are used',
  },
  {
    area: 'everstep/src/main',
    imports: ['everstep/src', 'pino', PROTOCOL, NODE],
    reason: 'main is the only file that knows the order in which the parts are created',
  },
  { area: 'sdk/src', imports: [NODE], reason: "the SDK adds no dependency to the user's app" },
  {
    area: 'sdk/src/opentelemetry',
    imports: ['sdk/src', '@opentelemetry/api'],
    reason: 'only apps that are traced install this package',
  },
  {
    area: 'sdk/src/protocol',
    imports: [
      'bounded-json',
      'failures/error-frame',
      'failures/stack-frames',
      'failures/truncated-text',
      'journal-digest',
      'step-protocol',
      'trace-context',
      'worker/frames',
      'worker/worker-url',
    ].map((file) => `sdk/src/${file}`),
    reason: 'the protocol does not depend on either side',
  },
  { area: 'sdk/src/failures/error-frame', imports: [], reason: 'both sides send and read errors' },
  { area: 'sdk/src/failures/stack-frames', imports: ['types sdk/src/failures/error-frame'], reason: 'both sides read stacks' },
  { area: 'sdk/src/failures/truncated-text', imports: [], reason: 'both sides truncate errors' },
  {
    area: 'sdk/src/step-protocol',
    imports: ['types sdk/src/failures/error-frame', 'types sdk/src/trace-context'],
    reason: 'both sides send and read these frames',
  },
  { area: 'sdk/src/trace-context', imports: [], reason: 'both sides read and write these headers' },
  { area: 'sdk/src/worker/frames', imports: ['types sdk/src/step-protocol'], reason: 'both sides send and read these frames' },
  { area: 'sdk/src/worker/worker-url', imports: [], reason: 'both sides read these URLs' },
  { area: 'sdk/src/journal-digest', imports: [], reason: 'both sides of the protocol compute it' },
  { area: 'sdk/src/bounded-json', imports: [], reason: 'both sides of the protocol parse with it' },
  {
    area: 'dashboard/src',
    imports: [
      'types everstep/src/contract',
      'everstep/dist/contract/filters/dead-letter-filters',
      'everstep/dist/contract/filters/filter',
      'everstep/dist/contract/filters/run-filters',
      'preact/compat/client',
      'react',
      '@base-ui/react',
      '@tanstack',
      'croner',
    ],
    reason: 'the pages depend only on the contract of the server, and everything they import is sent over the network',
  },
];
