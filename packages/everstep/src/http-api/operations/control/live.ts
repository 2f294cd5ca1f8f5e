/** Operations for live data: a stream of change hints, and the nodes of the installation. */
import { LiveChange, Nodes } from '../../../contract/live.js';
import { HintStream } from '../../live/hint-stream.js';
import { eventsOf, operation, respond } from '../../operation.js';
import { RawBody } from '../../requests/raw-body.js';

/** Headers that prevent proxies from buffering events. */
const STREAM_HEADERS = { 'x-accel-buffering': 'no' } as const;

export const streamHints = operation({
  operationId: 'streamHints',
  tag: 'Live',
  summary: 'Stream change hints',
  description:
    'Returns a stream of server-sent events. An event named `change` lists the kinds of data to request again. Events arrive at most four times per second and do not contain the data itself. Hints can be lost while a client is not connected, and can arrive twice. Changes that other nodes make are reported within about a second.',
  method: 'GET',
  path: '/v2/live',
  unknownQuery: 'refuse',
  head: false,
  streams: true,
  responses: { 200: eventsOf(LiveChange) },
  errors: ['bad-parameter'],
  handle({ request }, { service, liveStreams }, { instanceId }) {
    const release = liveStreams.acquire(instanceId);
    const stream = new HintStream({
      subscribe: (onHint) => service.live.watch(instanceId, onHint),
      isStillAdmitted: () => request.isStillAdmitted(),
      signal: request.signal(),
    });
    stream.once('close', release);
    return respond(200, new RawBody('text/event-stream; charset=utf-8', stream), STREAM_HEADERS);
  },
});

export const listNodes = operation({
  operationId: 'listNodes',
  tag: 'Live',
  summary: 'List the nodes of the installation',
  description: 'Returns one node when the server is a single process. The counts cover all queue instances.',
  method: 'GET',
  path: '/v2/nodes',
  unknownQuery: 'ignore',
  responses: { 200: Nodes },
  errors: [],
  handle: async (_input, { nodes }) => respond(200, { nodes: [...(await nodes())] }),
});
