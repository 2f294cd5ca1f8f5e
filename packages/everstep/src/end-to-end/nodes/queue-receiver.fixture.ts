/** An endpoint that records the deliveries of queues and checks their order. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Endpoint, listen } from '../nodes.fixture.js';

interface Line {
  readonly seen: Set<number>;
  readonly overtaken: Set<number>;
  /** Numbers of messages with a successful response. */
  readonly answered: Set<number>;
  /** Number below which all messages had a successful response. */
  answeredBelow: number;
  readonly inFlight: Set<{ readonly number: number; readonly stale: boolean }>;
}

export interface QueueReceiverOptions {
  /** Duration of one delivery. */
  readonly workMs: number;
  /** Whether the first delivery of a message fails. */
  readonly fails: (number: number) => boolean;
}

/** Accepts messages with body `<queue>:<number>`. Each queue is numbered from 0 without gaps. */
export class QueueReceiver {
  /** Messages delivered for the first time before an older one of their queue succeeded. */
  readonly overtaken: string[] = [];
  /** Number of overtaken messages. */
  overtakenCount = 0;
  /** Concurrent deliveries of two messages of a queue, except repeats of completed messages. */
  readonly overlaps: string[] = [];
  deliveries = 0;
  /** Number of repeated deliveries of completed messages. */
  repeats = 0;
  private endpoint: Endpoint | null = null;
  private readonly lines = new Map<string, Line>();
  private readonly options: QueueReceiverOptions;

  private constructor(options: QueueReceiverOptions) {
    this.options = options;
  }

  static async listen(options: QueueReceiverOptions): Promise<QueueReceiver> {
    const receiver = new QueueReceiver(options);
    receiver.endpoint = await listen((request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', async () => {
        response.statusCode = await receiver.take(body);
        response.end();
      });
    });
    return receiver;
  }

  get url(): string {
    return this.endpoint?.url ?? '';
  }

  /** Returns how many messages of the queue, from the first one on, succeeded. */
  answered(queue: string): number {
    return this.line(queue).answeredBelow;
  }

  close(): void {
    this.endpoint?.close();
  }

  private line(queue: string): Line {
    let line = this.lines.get(queue);
    if (!line) {
      line = { seen: new Set(), overtaken: new Set(), answered: new Set(), answeredBelow: 0, inFlight: new Set() };
      this.lines.set(queue, line);
    }
    return line;
  }

  /** Receives a message. Resolves with the response status. */
  private async take(body: string): Promise<number> {
    const [queue = '', text] = body.split(':');
    const number = Number(text);
    const line = this.line(queue);
    const isFirst = !line.seen.has(number);
    const delivery = { number, stale: line.answered.has(number) };
    this.deliveries++;
    if (delivery.stale) this.repeats++;
    if (isFirst && line.answeredBelow < number) {
      this.overtaken.push(`${queue}:${line.answeredBelow} by ${body}`);
      for (let older = line.answeredBelow; older < number; older++) {
        if (line.answered.has(older) || line.overtaken.has(older)) continue;
        line.overtaken.add(older);
        this.overtakenCount++;
      }
    }
    line.seen.add(number);
    for (const other of line.inFlight) {
      // A repeated request, or one sent before its node was paused, may overlap with the next message.
      if (other.number !== number && !other.stale && !delivery.stale) this.overlaps.push(`${queue}:${other.number} and ${body}`);
    }
    line.inFlight.add(delivery);
    await pause(this.options.workMs);
    line.inFlight.delete(delivery);
    if (isFirst && this.options.fails(number)) return 500;
    line.answered.add(number);
    while (line.answered.has(line.answeredBelow)) line.answeredBelow++;
    return 200;
  }
}
