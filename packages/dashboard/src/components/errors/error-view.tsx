/** Shows an error: its message with line breaks, the line of source code, the causes and the stack. */
import './error-view.css';
import { type ReactNode, useState } from 'react';
import type { StackLine } from '../../../../everstep/src/contract/fields/thrown-error.js';
import { CopyButton } from '../copy/copy-button.js';
import { quantity } from '../times/formats.js';
import { foldedStart, partsOfStack, type ShownError, sourceText, textOfError } from './shown-error.js';

export interface ErrorViewProps extends ShownError {
  /** Whether the stacks are folded, so that what follows the error stays on the screen. */
  readonly compact?: boolean;
}

export function ErrorView({ message, thrown, compact = false }: ErrorViewProps) {
  const { source, stack, causes = [] } = thrown ?? {};
  return (
    <div className="error-view">
      <Message text={message}>
        <CopyButton value={textOfError({ message, thrown })} valueName="error" />
      </Message>
      {source === undefined ? null : (
        <div className="error-source">
          <span>{sourceText(source)}</span>
          {source.code === undefined ? null : <code>{source.code}</code>}
        </div>
      )}
      <Stack lines={stack} compact={compact} />
      {causes.map((cause, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: causes can be alike and never move
        <div key={index} className="error-cause">
          <Message
            text={cause.message}
            prefix={`Caused by ${cause.name}${cause.code === undefined ? '' : ` (${cause.code})`}: `}
          />
          <Stack lines={cause.stack} compact={compact} />
        </div>
      ))}
    </div>
  );
}

interface MessageProps {
  readonly text: string;
  readonly prefix?: string;
  /** Button beside the message. */
  readonly children?: ReactNode;
}

function Message({ text, prefix, children }: MessageProps) {
  const [isExpanded, setIsExpanded] = useState(false);
  const start = foldedStart(text);
  return (
    <>
      <div className="error-head">
        <pre className="error-message">
          {prefix === undefined ? null : <span className="muted">{prefix}</span>}
          {start === null || isExpanded ? text : `${start} …`}
        </pre>
        {children}
      </div>
      {start === null ? null : (
        <div>
          <button
            type="button"
            className="button button-quiet button-small"
            aria-expanded={isExpanded}
            onClick={() => setIsExpanded(!isExpanded)}
          >
            {isExpanded ? 'Show less' : 'Show all'}
          </button>
        </div>
      )}
    </>
  );
}

interface StackProps {
  readonly lines: readonly StackLine[] | undefined;
  readonly compact: boolean;
}

function Stack({ lines = [], compact }: StackProps) {
  if (lines.length === 0) return null;
  const parts = partsOfStack(lines).map(({ isOwn, frames }, index) =>
    isOwn ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a stack never move
      <Frames key={index} frames={frames} isOwn />
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a stack never move
      <details key={index}>
        <summary>{quantity(frames.length, 'frame')} in Node.js and packages</summary>
        <Frames frames={frames} />
      </details>
    ),
  );
  if (!compact) return <div className="error-stack">{parts}</div>;
  return (
    <details className="error-stack">
      <summary>Stack</summary>
      <div>{parts}</div>
    </details>
  );
}

function Frames({ frames, isOwn }: { readonly frames: readonly string[]; readonly isOwn?: true }) {
  return (
    <ol className="error-frames" data-own={isOwn && ''} aria-label={isOwn && 'Your code'}>
      {frames.map((frame, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: frames repeat and never move
        <li key={index}>{frame}</li>
      ))}
    </ol>
  );
}
