/** Page of plain messages, the queues they wait in, and the URL groups they are published to. */
import { usePermissions } from '../../api/instances.js';
import { ActionButton } from '../../components/action-button.js';
import { PageTitle } from '../../components/page-title.js';
import { usePageDialog } from '../../components/tables/page-dialog.js';
import { MessagesList } from './messages-list.js';
import { QueuesList } from './queues-list.js';
import { SendMessageDialog } from './send-message-dialog.js';
import { UrlGroups } from './url-groups.js';
import './queues.css';

export default function QueuesPage() {
  const { readOnlyReason } = usePermissions();
  const send = usePageDialog('send');
  return (
    <>
      <PageTitle
        title="Queues & messages"
        lead="Everstep sends a message to a URL or to every URL of a group, and retries failed deliveries. A queue keeps messages in order."
        actions={
          <ActionButton variant="primary" disabledReason={readOnlyReason} onClick={send.open}>
            Send message
          </ActionButton>
        }
      />
      <QueuesList />
      <UrlGroups />
      <MessagesList />
      {send.isOpen ? <SendMessageDialog onClose={send.close} /> : null}
    </>
  );
}
