/** What goes on right now: a stream of hints, and the nodes of the service. */
import { LiveChange, Nodes } from '../../contract/live.js';
import { HintStream } from '../live/hint-stream.js';
import { answer, eventsOf, operation } from '../operation.js';
import { RawBody } from '../raw-body.js';

/** Nothing on the way may gather events, or keep them. */
const STREAMED = { 'x-accel-buffering': 'no' } as const;

export const lookOn = operation({
  operationId: 'lookOn',
  tag: 'Live',
  summary: 'Be told of changes as they happen',
  description:
    'A stream of server-sent events. An event named change says what to ask for again; it comes at most four times a second, and tells nothing of what there is. Hints may be lost while a client is not connected, and come twice. Changes that other nodes make are told within about a second.',
  method: 'GET',
  path: '/v2/live',
  unknownQuery: 'refuse',
  head: false,
  streams: true,
  responses: { 200: eventsOf(LiveChange) },
  errors: ['bad-parameter'],
  handle({ request }, { service, liveStreams }, { instanceId }) {
    const over = liveStreams.open(instanceId);
    const stream = new HintStream({
      lookOn: (told) => service.lookOn({ instanceId, told }),
      isStillLetIn: () => request.isStillLetIn(),
      signal: request.signal(),
    });
    stream.once('close', over);
    return answer(200, new RawBody('text/event-stream; charset=utf-8', stream), STREAMED);
  },
});

export const listNodes = operation({
  operationId: 'listNodes',
  tag: 'Live',
  summary: 'List the nodes of the service',
  description: 'One where the service is alone on its store. The counts are of all queue instances.',
  method: 'GET',
  path: '/v2/nodes',
  unknownQuery: 'ignore',
  responses: { 200: Nodes },
  errors: [],
  handle: async (_input, { nodes }) => answer(200, { nodes: [...(await nodes())] }),
});
