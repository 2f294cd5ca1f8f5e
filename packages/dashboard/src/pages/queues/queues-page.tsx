/** Plain messages: the queues that they stand in line in, the URL groups that they are fanned out to, and what became of them. */
import { useState } from 'react';
import { useMay } from '../../api/instances.js';
import { DeedButton } from '../../components/deed-button.js';
import { PageTitle } from '../../components/page-title.js';
import { MessagesList } from './messages-list.js';
import { QueuesList } from './queues-list.js';
import { SendMessage } from './send-message.js';
import { UrlGroups } from './url-groups.js';
import './queues.css';

export default function QueuesPage() {
  const { readOnly } = useMay();
  const [sending, setSending] = useState(false);
  return (
    <>
      <PageTitle
        title="Queues & messages"
        lead="Plain messages are sent to one URL, or to all of a group, and tried again until they arrive. In a queue they go in the order in which they came."
        actions={
          <DeedButton look="primary" off={readOnly} onClick={() => setSending(true)}>
            Send a message
          </DeedButton>
        }
      />
      <QueuesList />
      <UrlGroups />
      <MessagesList />
      {sending ? <SendMessage onClose={() => setSending(false)} /> : null}
    </>
  );
}
