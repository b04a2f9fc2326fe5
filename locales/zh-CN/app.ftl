# 框架用语：名称、菜单、各页共用的词。
app-name = 算力租赁台账
days-left = { $n ->
    [0] 今天到期
    [1] 明天到期
   *[other] 还有 { $n } 天
 }
days-past = 已到期 { $n } 天
days-left-to-act = { $n ->
    [0] 今天截止
    [1] 明天截止
   *[other] 还有 { $n } 天
 }
days-overdue = 已逾期 { $n } 天
skip-to-content = 跳到正文
nav-label = 主菜单
nav-overview = 总览
nav-renewals = 到期续费
nav-environments = 环境
nav-ledger = 支出产出
nav-audit = 操作记录
nav-settings = 设置
act-sign-out = 退出登录
optional = 选填
field-reason = 原因
choose = 选一个…
language-zh-cn = 中文
language-en = 英文
choose-none = （不选）
form-has-errors = 还没有保存：看各栏旁边的提示。
export-as = 导出：
page-next = 下一页
