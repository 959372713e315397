# SPDX-License-Identifier: Apache-2.0
"""A TCP relay in front of one task, which a test can cut, hold up or slow down."""
import select, socket, threading, time


class Proxy:
    """Listens on `port` (0: any) of the loopback interface and relays to `target_port`."""

    def __init__(self, target_port, port=0):
        self.target_port, self.delay, self.is_cut = target_port, 0.0, False
        self._pairs, self._lock, self._closed = set(), threading.Lock(), False
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client):
        server = None
        try:
            if self.is_cut:
                return
            server = socket.create_connection(("127.0.0.1", self.target_port), 5)
            for s in (client, server):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._pairs.add((client, server))
            other = {client: server, server: client}
            while True:
                ready, _, _ = select.select([client, server], [], [], 1)
                for s in ready:
                    data = s.recv(1 << 18)
                    if not data:
                        return
                    if self.delay:
                        time.sleep(self.delay)
                    other[s].sendall(data)
        except (OSError, ValueError):
            pass
        finally:
            with self._lock:
                self._pairs.discard((client, server))
            for s in (client, server):
                if s:
                    s.close()

    def cut(self):
        """Ends every connection and refuses new ones until mend()."""
        self.is_cut = True
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            for s in pair:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def mend(self):
        self.is_cut, self.delay = False, 0.0

    def close(self):
        self._closed = True
        self._listener.close()
        self.cut()
