/**
 * Shows a body: long JSON as a tree with search, short JSON indented, anything else as text. A long body starts shortened. For an
 * encrypted value, only the id of its key is shown; the button copies the value.
 */
import { useMemo, useState } from 'react';
import { CopyButton } from './copy/copy-button.js';
import { prettyJson } from './json/json-text.js';
import { treeOf } from './json/json-tree.js';
import { JsonTreeView } from './json/json-tree-view.js';
import { bytesText, encryptedText } from './times/formats.js';

export interface JsonViewProps {
  /** The body as it was sent or received. */
  readonly text: string;
  /** Accessible name, such as `Input of the run`. */
  readonly label: string;
  /** The whole body if `text` omits a part of it. The button copies the whole body. */
  readonly original?: string;
}

const FOLDED_LENGTH = 4_000;
/** Length from which JSON is shown as a tree. Shorter JSON is readable without folding and searching. */
const TREE_LENGTH = 400;

export function JsonView({ text, label, original = text }: JsonViewProps) {
  const [isExpanded, setIsExpanded] = useState(false);
  const encrypted = encryptedText(text);
  const tree = useMemo(() => (encrypted === null && text.length > TREE_LENGTH ? treeOf(text) : null), [text, encrypted]);
  const [showsTree, setShowsTree] = useState(true);
  const formattedText = useMemo(() => encrypted ?? prettyJson(text), [text, encrypted]);
  const isLong = formattedText.length > FOLDED_LENGTH;
  // Follows a verb in the label of the button and in messages.
  const valueName = label.charAt(0).toLowerCase() + label.slice(1);
  const shownText = isLong && !isExpanded ? formattedText.slice(0, FOLDED_LENGTH) : formattedText;
  if (text === '') return <p className="muted">Empty</p>;
  return (
    <div>
      {tree !== null && showsTree ? (
        <JsonTreeView root={tree} label={label} />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable with the keyboard
        <section className="json" tabIndex={0} aria-label={label}>
          <pre>
            {shownText}
            {isLong && !isExpanded ? ' …' : null}
          </pre>
        </section>
      )}
      <div className="json-foot">
        <span>{bytesText(new TextEncoder().encode(original).length)}</span>
        <CopyButton value={original} valueName={valueName} text="Copy" />
        {tree === null ? null : (
          <button type="button" className="button button-quiet button-small" onClick={() => setShowsTree(!showsTree)}>
            {showsTree ? 'Show as text' : 'Show as tree'}
          </button>
        )}
        {isLong && (tree === null || !showsTree) ? (
          <button
            type="button"
            className="button button-quiet button-small"
            aria-expanded={isExpanded}
            onClick={() => setIsExpanded(!isExpanded)}
          >
            {isExpanded ? 'Show less' : `Show all ${bytesText(formattedText.length)}`}
          </button>
        ) : null}
      </div>
    </div>
  );
}
