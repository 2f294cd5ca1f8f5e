/** Shows a JSON tree. Objects and arrays can be folded; a search opens what contains a match and marks it. */
import { useEffect, useId, useMemo, useRef, useState } from 'react';
import { ancestorsOf, type JsonNode, matchesIn } from './json-tree.js';

export interface JsonTreeViewProps {
  readonly root: JsonNode;
  /** Accessible name, such as `Input of the run`. */
  readonly label: string;
}

/** Objects and arrays below this depth start folded. */
const OPEN_DEPTH = 3;
/** Number of children of one node that are shown until the user asks for all. */
const MAX_CHILDREN = 100;

interface Folding {
  readonly isOpen: (node: JsonNode) => boolean;
  readonly toggle: (node: JsonNode) => void;
  readonly found: ReadonlySet<string>;
  readonly current: string | undefined;
}

export function JsonTreeView({ root, label }: JsonTreeViewProps) {
  const id = useId();
  const [word, setWord] = useState('');
  const [at, setAt] = useState(0);
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const box = useRef<HTMLElement>(null);
  const found = useMemo(() => matchesIn(root, word.trim()), [root, word]);
  const opened = useMemo(() => ancestorsOf(root, found), [root, found]);
  const current = found[Math.min(at, found.length - 1)];
  const isOpen = (node: JsonNode) => toggled.get(node.path) ?? (opened.has(node.path) || node.depth < OPEN_DEPTH);
  const folding: Folding = {
    isOpen,
    toggle: (node) => setToggled(new Map(toggled).set(node.path, !isOpen(node))),
    found: new Set(found),
    current,
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when another match becomes the current one
  useEffect(() => {
    const mark = box.current?.querySelector<HTMLElement>('[data-current]');
    if (!mark || !box.current) return;
    // Scrolls the box only, not the page.
    box.current.scrollTop = mark.offsetTop - box.current.clientHeight / 2;
  }, [current]);
  return (
    <>
      <div className="json-search">
        <input
          className="input"
          type="text"
          aria-label={`Search in: ${label}`}
          aria-describedby={`${id}-found`}
          placeholder="Search"
          autoComplete="off"
          spellCheck={false}
          value={word}
          onChange={(event) => {
            setWord(event.target.value);
            setAt(0);
            setToggled(new Map());
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || found.length === 0) return;
            event.preventDefault();
            setAt((at + (event.shiftKey ? found.length - 1 : 1)) % found.length);
          }}
        />
        <span id={`${id}-found`} className="field-hint numeric" role="status">
          {word.trim() === ''
            ? ''
            : found.length === 0
              ? 'No matches'
              : `${Math.min(at, found.length - 1) + 1} of ${found.length}`}
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable with the keyboard */}
      <section className="json json-tree" tabIndex={0} aria-label={label} ref={box}>
        <Node node={root} isLast folding={folding} />
      </section>
    </>
  );
}

interface NodeProps {
  readonly node: JsonNode;
  readonly isLast: boolean;
  readonly folding: Folding;
}

function Node({ node, isLast, folding }: NodeProps) {
  const { path, name, depth, scalar, brackets, children } = node;
  const [all, setAll] = useState(false);
  const mark = folding.found.has(path) ? (folding.current === path ? 'json-current' : 'json-found') : '';
  const key = name === null ? null : <span className="json-key">{name}: </span>;
  const style = { paddingLeft: `${depth * 1.25 + 1}em` };
  const comma = isLast ? '' : ',';
  const marked = folding.current === path ? { 'data-current': '' } : {};
  if (brackets === null)
    return (
      <div style={style} className={mark} {...marked}>
        {key}
        {scalar}
        {comma}
      </div>
    );
  const [open, close] = brackets;
  const isOpen = folding.isOpen(node);
  const shown = all || folding.found.size > 0 ? children : children.slice(0, MAX_CHILDREN);
  return (
    <>
      <div style={style} className={mark} {...marked}>
        {children.length === 0 ? null : (
          <button
            type="button"
            className="json-fold"
            aria-expanded={isOpen}
            aria-label={`${path}, ${children.length} ${open === '[' ? 'items' : 'fields'}`}
            onClick={() => folding.toggle(node)}
          >
            {isOpen ? '▾' : '▸'}
          </button>
        )}
        {key}
        {open}
        {isOpen && children.length > 0 ? null : (
          <>
            {children.length === 0 ? '' : <span className="muted"> {children.length} … </span>}
            {close}
            {comma}
          </>
        )}
      </div>
      {isOpen && children.length > 0 ? (
        <>
          {shown.map((child, index) => (
            <Node key={child.path} node={child} isLast={index === children.length - 1} folding={folding} />
          ))}
          {shown.length === children.length ? null : (
            <div style={style}>
              <button type="button" className="button button-quiet button-small" onClick={() => setAll(true)}>
                Show all {children.length}
              </button>
            </div>
          )}
          <div style={style}>
            {close}
            {comma}
          </div>
        </>
      ) : null}
    </>
  );
}
