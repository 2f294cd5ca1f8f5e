/** Shows a JSON tree. Objects and arrays can be folded; a search opens what contains a match and marks it. */
import { useEffect, useId, useMemo, useRef, useState } from 'react';
import { countText, quantity } from '../times/formats.js';
import { ancestorsOf, type JsonNode, matchesIn } from './json-tree.js';

export interface JsonTreeViewProps {
  readonly root: JsonNode;
  /** Accessible name, such as `Input of the run`. */
  readonly label: string;
}

/** Objects and arrays below this depth start folded. */
const OPEN_DEPTH = 3;
/** Number of children of one node that are shown until the user shows all of them. */
const MAX_CHILDREN = 100;

interface Folding {
  readonly isOpen: (node: JsonNode) => boolean;
  readonly toggle: (node: JsonNode) => void;
  readonly matches: ReadonlySet<string>;
  readonly currentPath: string | undefined;
}

export function JsonTreeView({ root, label }: JsonTreeViewProps) {
  const id = useId();
  const [searchText, setSearchText] = useState('');
  const [matchIndex, setMatchIndex] = useState(0);
  const [toggledPaths, setToggledPaths] = useState<ReadonlyMap<string, boolean>>(new Map());
  const box = useRef<HTMLElement>(null);
  const matches = useMemo(() => matchesIn(root, searchText.trim()), [root, searchText]);
  const openPaths = useMemo(() => ancestorsOf(root, matches), [root, matches]);
  const currentPath = matches[Math.min(matchIndex, matches.length - 1)];
  const isOpen = (node: JsonNode) => toggledPaths.get(node.path) ?? (openPaths.has(node.path) || node.depth < OPEN_DEPTH);
  const folding: Folding = {
    isOpen,
    toggle: (node) => setToggledPaths(new Map(toggledPaths).set(node.path, !isOpen(node))),
    matches: new Set(matches),
    currentPath,
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when another match becomes the current one
  useEffect(() => {
    const mark = box.current?.querySelector<HTMLElement>('[data-current]');
    if (!mark || !box.current) return;
    // Scrolls the box only, not the page.
    box.current.scrollTop = mark.offsetTop - box.current.clientHeight / 2;
  }, [currentPath]);
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
          value={searchText}
          onChange={(event) => {
            setSearchText(event.target.value);
            setMatchIndex(0);
            setToggledPaths(new Map());
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || matches.length === 0) return;
            event.preventDefault();
            setMatchIndex((matchIndex + (event.shiftKey ? matches.length - 1 : 1)) % matches.length);
          }}
        />
        <span id={`${id}-found`} className="field-hint numeric" role="status">
          {searchText.trim() === ''
            ? ''
            : matches.length === 0
              ? 'No matches'
              : `${Math.min(matchIndex, matches.length - 1) + 1} of ${matches.length}`}
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
  const [showsAll, setShowsAll] = useState(false);
  const mark = folding.matches.has(path) ? (folding.currentPath === path ? 'json-current' : 'json-found') : '';
  const key = name === null ? null : <span className="json-key">{name}: </span>;
  const style = { paddingLeft: `${depth * 1.25 + 1}em` };
  const comma = isLast ? '' : ',';
  const currentMark = folding.currentPath === path ? { 'data-current': '' } : {};
  if (brackets === null)
    return (
      <div style={style} className={mark} {...currentMark}>
        {key}
        {scalar}
        {comma}
      </div>
    );
  const [open, close] = brackets;
  const isOpen = folding.isOpen(node);
  const shownChildren = showsAll || folding.matches.size > 0 ? children : children.slice(0, MAX_CHILDREN);
  return (
    <>
      <div style={style} className={mark} {...currentMark}>
        {children.length === 0 ? null : (
          <button
            type="button"
            className="json-fold"
            aria-expanded={isOpen}
            aria-label={`${path}, ${quantity(children.length, open === '[' ? 'item' : 'field')}`}
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
          {shownChildren.map((child, index) => (
            <Node key={child.path} node={child} isLast={index === children.length - 1} folding={folding} />
          ))}
          {shownChildren.length === children.length ? null : (
            <div style={style}>
              <button type="button" className="button button-quiet button-small" onClick={() => setShowsAll(true)}>
                Show all {countText(children.length)}
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
