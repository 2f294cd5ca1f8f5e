/** Which part of the repository may import which others. `architecture.test.ts` compares it with the sources. */
export interface DirectionRule {
  /** Sources below this path. The longest matching path applies. */
  readonly area: string;
  /** Additional allowed imports: paths (with `types ` in front: only types) and packages. */
  readonly may: readonly string[];
  readonly because: string;
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
const STORE_MAY = [
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
  { area: ENGINE, may: [LIMITS_FILE, PROTOCOL, 'jsep', 'croner'], because: 'decisions are a pure function of their inputs' },
  {
    area: PORTS,
    may: [`types ${ENGINE}`, `${ENGINE}/writes/stored-size`, PROTOCOL],
    because: 'a port describes a need in terms of the engine',
  },
  {
    area: 'everstep/src/runtime',
    may: [ENGINE, PORTS, RESPONSES, FAIRNESS, AUDIT, LIMITS_FILE, PROTOCOL],
    because: 'the runtime works with any store and any transport of steps',
  },
  {
    area: RESPONSES,
    may: [`types ${ENGINE}`, LIMITS_FILE, PROTOCOL],
    because: 'an HTTP response is interpreted the same way for every sender',
  },
  {
    area: AUDIT,
    may: [`types ${ENGINE}`, `${ENGINE}/ids`, PORTS, LIMITS_FILE, NODE],
    because: 'all requests are recorded the same way',
  },
  { area: FAIRNESS, may: [`types ${PORTS}`], because: 'the rule of shares does not depend on the shared resource' },
  { area: 'everstep/src/stores/sqlite', may: [...STORE_MAY, ...SHARED_STORE, NODE], because: 'a store depends on no other' },
  { area: 'everstep/src/stores/postgres', may: [...STORE_MAY, ...SHARED_STORE, 'pg', NODE], because: 'as for SQLite' },
  ...SHARED_STORE.map((area) => ({ area, may: [...STORE_MAY, ...SHARED_STORE], because: 'every store uses the same' })),
  {
    area: 'everstep/src/stores/conformance',
    may: [ENGINE, PORTS, `${AUDIT}/chain`, LIMITS_FILE, PROTOCOL, NODE],
    because: 'the suite is the same for every store and depends on none',
  },
  {
    area: 'everstep/src/step-calls',
    may: [
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
    because: 'a transport of steps is replaceable, so it depends only on its port; the content of a call belongs to a dialect',
  },
  {
    area: 'everstep/src/metrics',
    may: [`types ${ENGINE}`, PORTS, 'prom-client', NODE],
    because: 'the server is observed at its ports',
  },
  {
    area: 'everstep/src/tracing',
    may: [
      ...[`types ${ENGINE}`, PORTS, 'types everstep/src/config/telemetry/tracing-settings'],
      ...['everstep/src/metrics/observed-calls', 'everstep/src/step-calls/version', PROTOCOL, 'undici', NODE],
    ],
    because: 'as for metrics',
  },
  {
    area: 'everstep/src/mail',
    may: [`types ${ENGINE}`, PORTS, LIMITS_FILE, 'types everstep/src/config/mail/mail-settings', PROTOCOL, 'nodemailer', NODE],
    because: 'only this area knows how email is sent',
  },
  {
    area: 'everstep/src/worker-connections',
    may: [`types ${ENGINE}`, PORTS, RESPONSES, FAIRNESS, LIMITS_FILE, ...inEverstep('dialects'), PROTOCOL],
    because: 'the frames of workers do not depend on the socket that carries them',
  },
  {
    area: 'everstep/src/http-api',
    may: [
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
    because: 'the API uses the server through its interface, whatever runtime or store is behind it',
  },
  {
    area: 'everstep/src/contract',
    may: [
      LIMITS_FILE,
      LOG_LEVELS,
      'everstep/src/config/mail/mail-address',
      `types ${ENGINE}`,
      `types ${PORTS}/stores/filters`,
      'typebox',
      PROTOCOL,
    ],
    because: 'every side relies on the contract, so it depends on none of them',
  },
  {
    area: 'everstep/src/dialects',
    may: [`types ${ENGINE}`, `${ENGINE}/failures`, `types ${PORTS}`, RESPONSES, LIMITS_FILE, PROTOCOL],
    because: 'a dialect defines how data is written and what responses mean, for every sender',
  },
  {
    area: 'everstep/src/accounts',
    may: [PORTS, ENGINE, AUDIT, LIMITS_FILE, PROTOCOL, ...inEverstep('contract', 'dialects', 'config', 'secrets'), 'jose', NODE],
    because: 'tokens and keys do not depend on the caller',
  },
  {
    area: 'everstep/src/search',
    may: [PORTS, LIMITS_FILE, ...inEverstep('accounts'), NODE],
    because: 'permissions of an index follow from its account; a port hides how documents are stored',
  },
  {
    area: 'everstep/src/rotation',
    may: [PORTS, ...inEverstep('backup', 'bootstrap', 'config', 'search', 'secrets', 'stores'), NODE],
    because: 'secrets are replaced in any store, while a server runs or not',
  },
  {
    area: 'everstep/src/sign-in',
    may: [PORTS, ...inEverstep('config', 'accounts', 'contract', 'secrets/key-ring'), 'openid-client', 'oidc-provider', NODE],
    because: 'only this area knows how to use an identity provider; accounts decide which user it identifies',
  },
  { area: 'everstep/src/secrets', may: [PORTS, PROTOCOL, NODE], because: 'secrets are encrypted the same way in every store' },
  { area: 'everstep/src/config', may: [NODE], because: 'settings are read before anything else exists' },
  { area: 'everstep/src/clock', may: [PORTS, NODE], because: 'the real clock and randomness implement ports' },
  {
    area: 'everstep/src/bootstrap',
    may: [PORTS, ENGINE, PROTOCOL, ...inEverstep('accounts', 'config', 'clock', 'dialects', 'secrets'), 'pino', NODE],
    because: 'the first start prepares what the server needs, and serves no requests',
  },
  {
    area: 'everstep/src/backup',
    may: [
      PROTOCOL,
      `types ${PORTS}`,
      ...inEverstep('bootstrap', 'secrets', 'config/secret-keys', 'stores/sqlite'),
      `types ${CONSISTENCY}`,
      NODE,
    ],
    because: 'a backup is of the embedded store, whichever side requests it',
  },
  {
    area: 'everstep/src/store-copy',
    may: [...inEverstep('backup', 'stores/sqlite', 'stores/postgres'), NODE],
    because: 'only code that copies one store to another knows both',
  },
  {
    area: 'everstep/src/simulation',
    may: [
      ...[PORTS, ENGINE, LIMITS_FILE, ...inEverstep('clock', 'runtime', 'stores', 'worker-connections')],
      ...['@everstep/sdk', 'sdk/dist/worker', 'types sdk/dist/endpoint', 'sdk/dist/testing/step-history.fixture', PROTOCOL, NODE],
    ],
    because: 'the simulation runs the real runtime without a network',
  },
  {
    area: 'everstep/src/cli',
    may: [...inEverstep('config', 'bootstrap', 'contract', 'step-calls/version'), '@everstep/sdk', 'commander', 'pino', NODE],
    because: 'the command line is a client of the API like any other',
  },
  {
    area: 'everstep/src/cli/commands/installation/service',
    may: [...inEverstep('main', 'cli', 'config', 'bootstrap'), '@everstep/sdk', 'commander', 'pino', NODE],
    because: 'dev and serve start the server, which only main assembles',
  },
  {
    area: 'everstep/src/cli/commands/installation/backup',
    may: [
      ...inEverstep('backup', 'cli', 'config', 'step-calls/version', 'stores/postgres/storage/consistency'),
      ...[`types ${CONSISTENCY}`, 'commander', NODE],
    ],
    because: 'a backup is made where the store is, even if no server runs',
  },
  {
    area: 'everstep/src/cli/doctor/store-checks',
    may: inEverstep(
      'backup/contents',
      'bootstrap',
      'cli',
      'stores/postgres/storage/diagnosis',
      'stores/sqlite/connection',
    ).concat(NODE),
    because: 'the store is examined where it is, even if no server runs',
  },
  {
    area: 'everstep/src/cli/commands/installation/store',
    may: [...inEverstep('cli', 'config', 'stores/postgres/sharding/administration'), 'commander', NODE],
    because: 'the tables of a store are distributed while no server runs',
  },
  {
    area: 'everstep/src/cli/commands/installation/rotate-secrets',
    may: [...inEverstep('rotation', 'bootstrap', 'cli', 'config'), 'commander', NODE],
    because: 'secrets are replaced where the store is, even if no server runs',
  },
  {
    area: 'everstep/src/cli/commands/installation/copy-store',
    may: [...inEverstep('store-copy', 'cli', 'config'), 'commander', NODE],
    because: 'a store is copied while no server uses it',
  },
  {
    area: 'everstep/src/end-to-end',
    may: [
      '@everstep/sdk',
      '@everstep/example-guides',
      ...inEverstep('cli/testing'),
      'undici',
      'playwright-core',
      'axe-core',
      NODE,
    ],
    because: 'end-to-end tests work from outside; the examples of the guides are apps like those of users',
  },
  {
    area: 'everstep/src/architecture',
    may: ['rolldown', NODE],
    because: 'these tests only read sources',
  },
  {
    area: 'everstep/src/documentation',
    may: [...inEverstep('cli', 'architecture', 'metrics/definitions'), 'commander', 'rolldown', NODE],
    because: 'the documentation is compared with the program; this area contains only tests',
  },
  {
    area: 'everstep/src/wiring',
    may: ['everstep/src', 'pino', NODE],
    because: 'only the wiring knows which store, transport and API are used',
  },
  {
    area: 'everstep/src/main',
    may: ['everstep/src', 'pino', PROTOCOL, NODE],
    because: 'main is the only file that knows the order in which the parts are created',
  },
  { area: 'sdk/src', may: [NODE], because: "the SDK adds no dependency to the user's app" },
  {
    area: 'sdk/src/opentelemetry',
    may: ['sdk/src', '@opentelemetry/api'],
    because: 'only apps that are traced install this package',
  },
  {
    area: 'sdk/src/protocol',
    may: [
      'bounded-json',
      'failures/error-frame',
      'failures/stack-frames',
      'journal-digest',
      'step-protocol',
      'trace-context',
      'worker/frames',
      'worker/worker-url',
    ].map((file) => `sdk/src/${file}`),
    because: 'the protocol does not depend on either side',
  },
  { area: 'sdk/src/failures/error-frame', may: [], because: 'both sides send and read errors' },
  { area: 'sdk/src/failures/stack-frames', may: ['types sdk/src/failures/error-frame'], because: 'both sides read stacks' },
  {
    area: 'sdk/src/step-protocol',
    may: ['types sdk/src/failures/error-frame', 'types sdk/src/trace-context'],
    because: 'both sides send and read these frames',
  },
  { area: 'sdk/src/trace-context', may: [], because: 'both sides read and write these headers' },
  { area: 'sdk/src/worker/frames', may: ['types sdk/src/step-protocol'], because: 'both sides send and read these frames' },
  { area: 'sdk/src/worker/worker-url', may: [], because: 'both sides read these URLs' },
  { area: 'sdk/src/journal-digest', may: [], because: 'both sides of the protocol compute it' },
  { area: 'sdk/src/bounded-json', may: [], because: 'both sides of the protocol parse with it' },
  {
    area: 'dashboard/src',
    may: [
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
    because: 'the pages depend only on the contract of the server, and everything they import is sent over the network',
  },
];
