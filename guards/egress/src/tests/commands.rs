//! Where commands go.

use super::*;

#[test]
fn where_commands_go() {
    all_refused(
        command,
        &[
            "curl 127.1/x",
            "curl -s -o /dev/null -m 10 localhost:8080",
            "curl 2130706433",
            "curl router",
            "curl -x 10.0.0.1:3128 https://example.com",
            "curl --proxy socks5://127.0.0.1 https://example.com",
            "curl --resolve example.com:443:127.0.0.1 https://example.com",
            "curl --connect-to example.com:443:10.0.0.1:443 https://example.com",
            "curl https://example.com https://user:pass@example.org/",
            "curl 'http://{127.0.0.1,example.com}/'",
            "cu\\rl $'http://127.0.0.1'",
            "U=http://127.0.0.1; curl $U",
            "https_proxy=http://10.0.0.1:3128 curl https://example.com",
            "export http_proxy=10.0.0.1:3128",
            "wget -q -O - 0x7f000001",
            "nc 10.0.0.1 22",
            "nc -w 3 169.254.169.254 80",
            "ncat --ssl internal.corp 443",
            "telnet localhost 25",
            "ssh root@10.0.0.1 id",
            "ssh -p 2222 build",
            "ssh -J bastion.internal example.com",
            "scp secret.txt me@192.168.1.2:/tmp/",
            "rsync -a . 10.0.0.1:/x",
            "git clone git@10.0.0.1:org/repo",
            "git clone http://gitlab.local/x.git",
            "socat - TCP:10.0.0.1:22",
            "openssl s_client -connect 127.0.0.1:443",
            "nmap 10.0.0.0/24",
            "cat </dev/tcp/10.0.0.1/80",
            "bash -c 'exec 3<>/dev/tcp/127.0.0.1/80'",
            "python3 -c 'import urllib.request as u; u.urlopen(\"http://169.254.169.254/\")'",
            "node -e \"fetch('http://localhost:9200')\"",
            "echo \"$(curl http://127.0.0.1)\"",
            "xargs curl <<< http://127.0.0.1; curl http://127.0.0.1",
            "./fetch --to http://10.0.0.1/",
        ],
    );
    all_allowed(
        command,
        &[
            "git status",
            "git commit -m 'see http://localhost:3000'",
            "git clone git@github.com:org/repo.git",
            "git show HEAD:README.md",
            "git push origin main:main",
            "echo http://localhost:3000",
            "grep -rn http://localhost src/",
            "API=http://localhost:3000 npm start",
            "docker run -e DB=postgres://db:5432/x -p 127.0.0.1:8080:80 app",
            "curl -fsSL https://example.com/install.sh -o install.sh",
            "curl -m 10 --retry 3 -X POST -H 'Host: localhost' -d @body.json https://example.com/a",
            "wget -q -t 3 https://example.com/a.tar.gz",
            "nc -lvnp 4444",
            "scp example.com:/tmp/x .",
            "scp C:/x example.com:/tmp",
            "ssh deploy@example.com uptime",
            "npm run dev -- --port 3000",
            "cargo test --test http::server",
            "pip install requests==2.0",
            "sed -i s#http://a#http://localhost# x",
            "cat <<E > README.md\nhttp://localhost:3000\nE",
        ],
    );
    let words = |words: &[&str]| reason(call("shell", "run").command_words("/command", words));
    assert!(!words(&["curl", "127.1/x"]).is_empty());
    assert!(!words(&["sh", "-c", "nc 10.0.0.1 22"]).is_empty());
    assert!(!words(&["curl 127.1"]).is_empty());
    assert!(words(&["git", "status"]).is_empty());
}
