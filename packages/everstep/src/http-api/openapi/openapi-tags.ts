/** Descriptions of the tags that group operations in the OpenAPI documents. */
const TAG_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Account: 'The current user.',
  Alerts: 'Alert rules, destinations of notices, lifecycle webhooks, and alerts.',
  'API keys': 'API keys of the current user for the management API.',
  'Audit log': 'Records of changes and of access to secrets.',
  Clock: 'The virtual clock of a development server.',
  'Dead letter queue': 'Failed runs: listing, resuming, restarting and deleting them.',
  Destinations: 'Hosts that deliveries are sent to, and holds on them.',
  Documents: 'Documents of a search index.',
  Events: 'Events that runs wait for.',
  'Flow control': 'Keys that limit the parallelism and the rate of deliveries.',
  Insights: 'Counters of runs over time, and what needs attention.',
  Invitations: 'Invitations to teams.',
  Live: 'Change hints and the nodes of the installation.',
  Logs: 'Logs of runs and messages.',
  Messages: 'Plain messages to a URL or a URL group.',
  'Queue instances': 'Queue instances, which own runs, tokens and settings.',
  Queues: 'Queues that deliver messages in order.',
  Repairs: 'Bulk jobs over dead letters.',
  Runs: 'Workflow runs: starting, reading and canceling them.',
  Schedules: 'Runs and messages that start periodically.',
  'Search indexes': 'Search indexes and their tokens.',
  Service: 'Health, readiness and OpenAPI documents.',
  Session: 'Browser sessions and single sign-on.',
  Settings: 'Settings of a queue instance.',
  'Signing keys': 'Keys that sign the requests to endpoints.',
  Teams: 'Teams and their members.',
  Tokens: 'Tokens of a queue instance.',
  'URL groups': 'Groups of URLs that messages are published to.',
  Users: 'Users of the installation, for operators.',
  Webhooks: 'Webhooks that runs create.',
  Workers: 'Workers that have connected to the server.',
};

/** Returns the tag object of an OpenAPI document. */
export const tagObject = (name: string) => {
  const description = TAG_DESCRIPTIONS[name];
  if (description === undefined) throw new Error(`the tag ${name} has no description`);
  return { name, description };
};
